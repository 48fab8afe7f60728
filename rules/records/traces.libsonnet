// Traced requests, and the share of all requests that they represent.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // Quantiles of requests and of their queue time, for any model, from a weighted sample of traces. A quantile is the
  // geometric middle of its bucket, at most 5 % from the true value. Linear interpolation would be up to 10 % off where all
  // requests take equally long.
  local traces =
    local traced = 'model_version_phase:tritonobs_trace_duration_seconds:';
    local quantiles = [['p50', '0.5'], ['p95', '0.95'], ['p99', '0.99']];
    // The fewest samples for a quantile: one in a hundred is above the P99, so it needs a hundred. A median of any number is
    // shown.
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
      // From traces where there are any, else from stages, which exclude the queue. The label `source` names which.
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
    // The record that error budgets read of traces, beside the requests.
    local samples = [
      // The least number of traced requests behind the bad requests of an SLO: bad requests divided by the highest weight. A
      // hundred bad ones sampled 1 in 100 are one.
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
    { shown: shown, samples: samples };

  // What traces represent compared with what Triton counted, by model and server. A lost batch of spans is in no other
  // counter.
  //
  // Only requests that both sides count are compared. The receiver exports a rate only for models that no pipeline calls.
  // The rate must have been the same for 5 m, and no receiver may have restarted. A trace arrives seconds after Triton's
  // count, so counts are read two evaluations late, and traces are the larger value of now and two evaluations ago.
  local share =
    local increase = (import '../lib/counters.libsonnet').increase;
    local traced = (import '../lib/counters.libsonnet').traced;
    local where = '%(model)s, %(replica)s';
    local succeeded = 'nv_inference_request_success{%(triton)s}';
    // The receiver's label for a server is always `replica`.
    local named(expr) =
      if config.replicaLabel == 'replica' then expr
      else fit('label_replace(%(expr)s, "%(label)s", "$1", "replica", "(.+)")', { expr: expr, label: config.replicaLabel });
    local over(series, offset='') = 'sum_over_time(' + series + '[%(span1h)s]' + offset + ')';
    local counted = 'replica_model:triton_requests:increase';
    local seen = 'replica_model:tritonobs_requests_traced:increase';
    local due = 'replica_model:triton_requests_traceable:increase';
    local rate = 'tritonobs_trace_rate{%(traces)s}';
    local steady = 'replica_model:tritonobs_trace_rate:steady';
    local spans = 'tritonobs_trace_spans_total{%(traces)s}';
    {
      counted: [
        text.record(counted, text.given(counted, shards.grown, fit(
          'sum by (%(where)s) (\n  %(each)s\n)',
          { where: where, each: increase.each(increase.now(succeeded), increase.before(succeeded)) }
        ))) + shards.parts([
          text.part(counted, shards.grown, fit(
            'sum by (%(where)s) (\n  %(each)s\n)',
            { where: where, each: increase.each(increase.now(succeeded), increase.before(succeeded)) }
          )),
        ]),
        // The sampling rate of models and servers, where it was the same for 5 m and no receiver restarted.
        text.record(steady, fit(|||
          (
            max by (%(model)s, replica) (max_over_time(%(rate)s[%(span5m)s])) > 0
              ==
            min by (%(model)s, replica) (min_over_time(%(rate)s[%(span5m)s]))
              and on (%(model)s, replica)
            %(rate)s offset %(span5m)s
          )
            unless on (%(cluster)s)
          (
            resets(%(spans)s[%(span5m)s]) > 0
            or
            (%(spans)s unless %(spans)s offset %(span5m)s)
          )
        |||, { rate: rate, spans: spans })),
        text.record(seen, fit(|||
          sum by (%(where)s) (
            %(answered)s
          )
            and on (%(where)s)
          %(steady)s
        |||, { where: where, answered: named('(\n' + traced.answered + '\n)'), steady: named(steady) })),
        // Requests that should have been traced: completed ones, and failures inside the model.
        text.record(due, fit(|||
          (
            %(counted)s offset %(sloFreshWindow)s
              + on (%(where)s)
            (
              sum by (%(where)s) (
                replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"} offset %(sloFreshWindow)s
              )
              or
              %(counted)s offset %(sloFreshWindow)s * 0
            )
          )
            and on (%(where)s)
          %(steady)s
            and on (%(where)s)
          %(before)s
        |||, { where: where, counted: counted, steady: named(steady), before: named(steady + ' offset %(sloFreshWindow)s') })),
      ],
      compared: [
        text.record('replica_model:triton_requests_traceable:sum1h', over(due)),
        text.record('replica_model:tritonobs_requests_traced:ratio1h', fit(|||
          (
            %(now)s >= %(before)s
            or
            %(before)s
            or
            %(now)s
          )
            / (%(due)s > 0)
          or
          (%(due)s > 0) * 0
        |||, {
          now: over(seen),
          before: over(seen, ' offset %(sloFreshWindow)s'),
          due: over(due),
        })),
        text.record('replica_model:tritonobs_trace_rate:max1h', named(fit('max by (%(model)s, replica) (max_over_time(%(rate)s[%(span1h)s]))', { rate: rate }))),
      ],
    };
  { traces: traces, share: share }
