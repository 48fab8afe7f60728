// Stages: rates of their histograms over all workers, and what people read of them.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local percentile(name, quantile) =
    text.record('model_version_stage:tritonobs_stage_duration_seconds:%s_5m' % name, |||
      histogram_quantile(
        %(quantile)s,
        avg_over_time(model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%%(medium)s[5m])
      ) >= 0
    ||| % { quantile: quantile });
  text.group('stages', config.stageInterval, [
    text.record('model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s', |||
      sum by (%(model_version_stage)s, le) (rate(tritonobs_stage_duration_seconds_bucket{%(triton)s}[%(medium)s]))
    |||),
    text.record('model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s', |||
      sum by (%(model_version_stage)s) (rate(tritonobs_stage_duration_seconds_sum{%(triton)s}[%(medium)s]))
    |||),
    text.record('model_version_stage:tritonobs_stage_duration_seconds_count:rate%(medium)s', |||
      sum by (%(model_version_stage)s) (rate(tritonobs_stage_duration_seconds_count{%(triton)s}[%(medium)s]))
    |||),
    percentile('p50', 0.5),
    percentile('p95', 0.95),
    percentile('p99', 0.99),
    text.record('model_version_stage:tritonobs_stage_duration_seconds:mean5m', |||
      avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s[5m])
        /
      (avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_count:rate%(medium)s[5m]) > 0)
    |||),
    text.record('model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m', |||
      avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage!="total"}[5m])
        / on (%(model_version)s) group_left ()
      (avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage="total"}[5m]) > 0)
    |||),
  ])
