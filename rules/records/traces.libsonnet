// What Triton traces of a sample of requests, each weighted by what it stands for: quantiles of any model's requests and
// of their time in the queue. A quantile is the geometric middle of its bucket, at most 5 % from the truth; a straight
// line through the bucket would be 10 % off where all requests take equally long.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local traced = 'model_version_phase:tritonobs_trace_duration_seconds:';
  local quantiles = [['p50', '0.5'], ['p95', '0.95'], ['p99', '0.99']];
  // One in a hundred above the P99 takes a hundred samples. (A median of one is worth showing.)
  local samples = { p50: 0, p95: 20, p99: 100 };
  local shown = [
    text.record('model_version_phase_le:tritonobs_trace_duration_seconds_bucket:rate%(medium)s', |||
      sum by (%(subject)s, phase, le) (
        rate(tritonobs_trace_duration_seconds_bucket{%(traces)s, phase=~"request|queue"}[%(medium)s])
      )
    |||),
    text.record('model_version:tritonobs_trace_samples:rate5m', |||
      sum by (%(subject)s) (rate(tritonobs_trace_samples_total{%(traces)s}[%(span5m)s]))
    |||),
  ] + [
    text.record(traced + quantile[0] + '_5m', fit(|||
      0.0001 * 10 ^ (
        (
          ceil(
            log10(
              clamp_min(
                histogram_quantile(
                  %(ratio)s,
                  avg_over_time(model_version_phase_le:tritonobs_trace_duration_seconds_bucket:rate%(medium)s[%(span5m)s])
                ),
                0.0001
              ) / 0.0001
            ) * 24 - 0.0001
          ) - 0.5
        ) / 24
      )%(enough)s
    |||, {
      ratio: quantile[1],
      enough: if samples[quantile[0]] == 0 then '' else fit(
        '\n  and on (%(subject)s)\n(model_version:tritonobs_trace_samples:rate5m * %(seconds5m)s > %(least)s)',
        { least: std.toString(samples[quantile[0]] - 0.5) }
      ),
    }))
    for quantile in quantiles
  ] + [
    // From traces where there are any, else from the stages, which know no queue; `source` says which.
    text.record('model_version_phase:tritonobs_request_seconds:' + quantile[0] + '_5m', fit(|||
      label_replace(%(traced)s, "source", "traces", "", "")
      or
      label_replace(
        label_replace(
          max by (%(subject)s) (model_version_stage:tritonobs_stage_duration_seconds:%(name)s_5m{stage="total"}),
          "source", "stages_without_queue", "", ""
        )
        unless on (%(subject)s)
        %(traced)s{phase="request"},
        "phase", "request", "", ""
      )
    |||, { traced: traced + quantile[0] + '_5m', name: quantile[0] }))
    for quantile in quantiles
  ];
  // What error budgets read of traces beside the requests.
  local samples = [
    // How many traced requests the bad ones of an SLO were, at least: of one in a hundred, a hundred bad ones are one.
    text.record('slo:sli_bad_samples:increase', |||
      (
        slo:sli_bad_requests:increase
        and on (%(subject)s, slo)
        subject_slo:tritonobs_latency_target_seconds:held{stage="traces:request"}
      )
        / on (%(model)s) group_left ()
      max by (%(model)s) (tritonobs_trace_weight{%(traces)s})
    |||),
  ];
  { shown: shown, samples: samples }
