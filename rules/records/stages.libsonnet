// Stages: rates of their histograms over all workers, and what people read of them.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local mean_of = import '../lib/mean.libsonnet';
  local rate(part) =
    text.record(
      'model_version_stage:tritonobs_stage_duration_seconds_' + part + ':rate%(medium)s',
      put('sum by (%(subject)s, stage) (rate(tritonobs_stage_duration_seconds_<part>{%(triton)s}[%(medium)s]))', {
        part: part,
      })
    );
  local percentile(name, quantile) =
    text.record('model_version_stage:tritonobs_stage_duration_seconds:' + name + '_5m', put(|||
      histogram_quantile(
        <quantile>,
        avg_over_time(model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s[5m])
      ) >= 0
    |||, { quantile: quantile }));
  [
    // Prometheus 3 writes 1.0 where others write 1: both become 1, or targets would not find their bucket.
    text.record('model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s', |||
      sum by (%(subject)s, stage, le) (
        label_replace(
          sum by (%(subject)s, stage, le) (rate(tritonobs_stage_duration_seconds_bucket{%(triton)s}[%(medium)s])),
          "le", "$1", "le", "([0-9]+)[.]0+"
        )
      )
    |||),
    rate('sum'),
    rate('count'),
    percentile('p50', '0.5'),
    percentile('p95', '0.95'),
    percentile('p99', '0.99'),
    text.record('model_version_stage:tritonobs_stage_duration_seconds:mean5m', mean_of(
      'model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s',
      'model_version_stage:tritonobs_stage_duration_seconds_count:rate%(medium)s'
    )),
    text.record('model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m', |||
      avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage!="total"}[5m])
        / on (%(subject)s) group_left ()
      (avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage="total"}[5m]) > 0)
    |||),
    // Which stage eats the latency budget: its seconds per request of the model, as a share of the tightest target
    // for the whole request.
    text.record('model_version_stage:tritonobs_stage_latency_budget_used:ratio5m', |||
      model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m
        * on (%(subject)s) group_left ()
      model_version_stage:tritonobs_stage_duration_seconds:mean5m{stage="total"}
        / on (%(subject)s) group_left ()
      min by (%(subject)s) (subject_slo:tritonobs_latency_target_seconds:held{stage="total"})
    |||),
  ]
