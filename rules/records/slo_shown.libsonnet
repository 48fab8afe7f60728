// What people look at and no page waits for.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  // Of one interval of their group.
  local recent(series, of=text.settled) = 'sum_over_time(' + series + '[%(slowSampleWindow)s]' + of + ')';
  local timed(stage='') = recent('model_version_stage_le:tritonobs_requests_timed:increase{le="+Inf"' + stage + '}');
  // Versions that time nothing are asked for all the same.
  local all = fit(|||
    %(timed)s
    or
    label_replace(
      %(requests)s unless on (%(subject)s) %(whole)s,
      "stage", "total", "", ""
    )
  |||, { timed: timed(), requests: recent('model_version:triton_requests:increase'), whole: timed(', stage="total"') });
  {
    // Over 5 m, ensembles counted once, the worse of both views on each server: as SLOs count; of models that are loaded.
    ratio: [text.record('model_version:triton_requests_bad_per_requests:ratio_rate5m', |||
      sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s])
        /
      (sum_over_time(model_version:triton_requests:increase[%(span5m)s]) > 0)
      and
      model_version:triton_requests:rate5m
    |||)],
    // The caller's fault: what no budget is charged for.
    invalid: [text.record('model_version:triton_requests_invalid:increase5m', fit(|||
      sum by (%(subject)s) (
        sum_over_time(%(told)s[%(span5m)s])
        or
        sum_over_time(replica_model_version_seen_by:triton_requests_bad:increase[%(span5m)s])
        or
        (
          -sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s])
            and on (%(subject)s)
          (
            sum_over_time(%(told)s[%(span5m)s])
            or
            sum_over_time(replica_model_version_seen_by:triton_requests_bad:increase[%(span5m)s])
          )
        )
      )
      > 0.001
    |||, { told: 'replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}' }))],
    // Requests of a promised stage that no bucket bound of their worker can tell from slow ones.
    unmeasured: [text.record('slo:sli_unmeasured_requests:increase', fit(|||
      sum without (stage, le, before) (
        slo:tritonobs_counted:info{stage!=""}
          * on (%(subject)s, stage) group_left ()
        (
          sum by (%(subject)s, stage) (
            %(all)s
          )
          or
          sum by (%(model)s, stage) (
            %(all)s
          )
        )
        or
        label_replace(
          -(%(valid)s and on (%(subject)s, slo) slo:tritonobs_counted:info{stage!=""}),
          "before", "1", "", ""
        )
      ) > 0
    |||, { all: all, valid: recent('slo:sli_valid_requests:increase', ' offset %(sloInterval)s') }))],
  }
