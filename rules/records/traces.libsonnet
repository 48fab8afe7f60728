// Traced requests, and how many of all requests they are.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // What Triton traces of a sample of requests, each weighted by what it stands for: quantiles of any model's requests and
  // of their time in the queue. A quantile is the geometric middle of its bucket, at most 5 % from the truth; a straight
  // line through the bucket would be 10 % off where all requests take equally long.
  local traces =
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
    { shown: shown, samples: samples };

  // What traces stand for of what Triton counted, of each model on each server: a batch that is lost on its way leaves no
  // counter anywhere. Compared is what should be in both: requests to models that only clients call, while the server said
  // the same rate for 5 m and no receiver began again. A trace comes seconds after its request was counted, so what was
  // counted is read two evaluations late, and what was traced is taken where it is more, now or as it was then.
  local share =
    local increase = (import '../lib/counters.libsonnet').increase;
    local traced = (import '../lib/counters.libsonnet').traced;
    local where = '%(model)s, %(replica)s';
    local succeeded = 'nv_inference_request_success{%(triton)s}';
    // The receiver's page names servers `replica`.
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
    // Nothing was traced where no row is.
    local known(offset='') = fit('(\n  %(now)s\n    or\n  %(due)s * 0\n)', { now: over(seen, offset), due: over(due) });
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
        // Models on servers that were traced at one rate for 5 m, by receivers that went on.
        text.record(steady, fit(|||
          (
            max by (%(model)s, replica) (max_over_time(%(rate)s[%(span5m)s])) > 0
              ==
            min by (%(model)s, replica) (min_over_time(%(rate)s[%(span5m)s]))
              and
            max by (%(model)s, replica) (%(rate)s offset %(span5m)s)
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
            %(known)s
              >=
            %(before)s
            or
            %(before)s
          )
            /
          (%(due)s > 0)
        |||, {
          known: known(),
          before: known(' offset %(sloFreshWindow)s'),
          due: over(due),
        })),
        text.record('replica_model:tritonobs_trace_rate:max1h', named(fit('max by (%(model)s, replica) (max_over_time(%(rate)s[%(span1h)s]))', { rate: rate }))),
      ],
    };
  { traces: traces, share: share }
