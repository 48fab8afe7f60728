// SLOs and bounds that count. A Prometheus that starts counts at once what came while it was away: for objectives as they
// were, until they are read again. How they were is recorded seldom, for an hour of it is read at every evaluation.
local fit = import 'fit.libsonnet';
local as_before(info, kept, only) = fit(|||
  (
    %(info)s%(only)s
    or
    (
      last_over_time(%(kept)s%(only)s[%(gapWindow)s])
        unless on (%(cluster)s)
      %(info)s
    )
  )
|||, { info: info, kept: kept, only: only });
{
  slos: 'slo:tritonobs_counted:info',
  kept_slos: 'slo:tritonobs_counted:kept',
  bounds: 'model_stage_le:tritonobs_latency_bound:info',
  kept_bounds: 'model_stage_le:tritonobs_latency_bound:kept',

  // All of them, or those that a matcher chooses.
  now(only=''):: as_before(self.slos, self.kept_slos, if only == '' then '' else '{' + only + '}'),
  bounds_now:: as_before(self.bounds, self.kept_bounds, ''),
}
