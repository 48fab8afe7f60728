// How much traffic breathes: by how much it fell in the worst fifth of three hours, from one moment to another some minutes
// later, beyond what it fell or grew all the time. What it rises is not asked, so that an overload does not count as the
// breath of the traffic it comes from; nor does a short outage, nor a morning.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local offered = 'subject:triton_requests_offered:';
  local names = {
    breath: { record: offered + 'rate%(short)s', apart: '%(breathApart)s' },
    breath5m: { record: offered + 'rate5m', apart: '%(span10m)s' },
  };
  {
    steps: [
      text.record(offered + name + '_step', fit(|||
        (%(record)s - on (%(subject)s) %(record)s offset %(apart)s)
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      |||, names[name]))
      for name in std.objectFields(names)
    ],
    // They are much to read, and change slowly.
    breaths: [
      text.record(offered + name + '3h', fit(|||
        quantile_over_time(0.5, %(step)s[%(span3h)s])
          - on (%(subject)s)
        quantile_over_time(0.2, %(step)s[%(span3h)s])
      |||, { step: offered + name + '_step' }))
      for name in std.objectFields(names)
    ],
  }
