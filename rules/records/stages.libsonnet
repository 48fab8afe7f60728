// Stages as models time them, and the items, errors and tokens of stages.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // Rates of the histograms of stages over all workers, and percentiles, means and shares of them. The time to the first
  // token and the time per output token are stages, too, but they are not parts that add up to the whole request.
  local stages =
    local bounds = (import '../lib/counters.libsonnet').bounds;
    local mean_of = (import '../lib/counters.libsonnet').mean;
    local vendors = (import '../lib/counters.libsonnet').vendors;
    // The rate of one part of the histogram (bucket, sum, count), of our stages and of engines (`vendors`).
    local rated(by, part, only='', stages=null) =
      local of(series, only='') = fit('sum by (%(by)s) (rate(%(series)s_%(part)s{%(triton)s' + only + '}[%(medium)s]))', {
        by: by,
        series: series,
        part: part,
      });
      local own = std.strReplace(of('tritonobs_stage_duration_seconds', only), 'by (' + by, 'by (' + by + ', stage');
      vendors(own, of, stages=stages);
    local buckets(only, stages, labels={}) =
      text.record(
        'model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s',
        bounds('%(subject)s, stage, le', rated('%(subject)s, le', 'bucket', only, stages)),
        labels
      ) + shards.sum;
    local rate(part) =
      text.record(
        'model_version_stage:tritonobs_stage_duration_seconds_' + part + ':rate%(medium)s',
        rated('%(subject)s', part)
      ) + shards.sum;
    local percentile(name, quantile) =
      text.record('model_version_stage:tritonobs_stage_duration_seconds:' + name + '_5m', fit(|||
        histogram_quantile(
          %(quantile)s,
          avg_over_time(model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s[%(span5m)s])
        ) >= 0
      |||, { quantile: quantile }));
    {
      // Buckets are most of all series, so they are recorded in two halves by two groups. The label `stage` is in the rows
      // anyway; as a label of the rule it keeps promtool from reporting a duplicate rule. The global tier reads both halves
      // of the shards by the rule of the parts.
      whole: [buckets(', stage="total"', ['total'], { stage: 'total' }) + shards.kept],
      parts: [buckets(', stage!="total"', ['first_token', 'output_token'])],
      shown: [
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
          avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage!~"total|first_token|output_token"}[%(span5m)s])
            / on (%(subject)s) group_left ()
          (avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage="total"}[%(span5m)s]) > 0)
        |||),
        // The share of the latency threshold that a stage uses: its seconds per request of the model, divided by the
        // tightest threshold of stage `total`.
        text.record('model_version_stage:tritonobs_stage_latency_budget_used:ratio5m', |||
          model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m
            * on (%(subject)s) group_left ()
          model_version_stage:tritonobs_stage_duration_seconds:mean5m{stage="total"}
            / on (%(subject)s) group_left ()
          min by (%(subject)s) (subject_slo:tritonobs_latency_target_seconds:held{stage="total"})
        |||),
      ],
    };

  // Items, errors and sizes of stages, and tokens.
  local work =
    // A reason that is new to a worker has no series before its first error, and `rate` would miss that one. So the whole
    // value of a series counts as an increase if the series did not exist a window ago while its server was scraped.
    local errors(name, window, seconds) =
      text.record('model_version_stage_reason:tritonobs_stage_errors:rate' + name, fit(|||
        sum by (%(subject)s, stage, reason, outcome) (
          (
            tritonobs_stage_errors_total{%(triton)s} / %(seconds)s
              unless
            tritonobs_stage_errors_total{%(triton)s} offset %(window)s
          )
          and on (%(replica_only)s)
          (up{%(triton)s} offset %(window)s == 1)
          or
          rate(tritonobs_stage_errors_total{%(triton)s}[%(window)s])
        )
      |||, { window: window, seconds: seconds })) + shards.sum;
    local tokens(kind, series) =
      fit(
        'label_replace(sum by (%(subject)s) (rate(%(series)s{%(triton)s}[%(medium)s])), "kind", "%(kind)s", "", "")',
        { series: series, kind: kind }
      );
    local size(part) =
      text.part(
        'model_version_stage_kind:tritonobs_stage_size_' + part + ':rate%(medium)s',
        shards.sum,
        'sum by (%(subject)s, stage, kind) (rate(tritonobs_stage_size_' + part + '{%(triton)s}[%(medium)s]))',
      );
    local sizes = { sum: size('sum'), count: size('count') };
    [
      errors('%(medium)s', '%(medium)s', '%(mediumSeconds)s'),
      errors('5m', '%(span5m)s', '%(seconds5m)s'),
      // Reasons in Triton's counters that fail often enough for a surge, which are few.
      text.record('model_version_reason:triton_requests_failed:mean5m', |||
        avg_over_time(model_version_reason:triton_requests_failed:rate%(short)s[%(span5m)s])
          >= %(surgeErrors)s / %(seconds5m)s
      |||),
      text.record('model_version_stage_kind:tritonobs_stage_items:rate%(medium)s', |||
        sum by (%(subject)s, stage, kind) (rate(tritonobs_stage_items_total{%(triton)s}[%(medium)s]))
      |||) + shards.sum,
      text.record('model_version_stage_kind:tritonobs_stage_size:mean%(medium)s', fit(|||
        %(sum)s
          /
        (%(count)s > 0)
      |||, { sum: sizes.sum.here, count: sizes.count.here })) + shards.parts([sizes.sum, sizes.count]),
      // Our own counters, else vLLM's, else TensorRT-LLM's. Two stages that count the same tokens count once, by `max`.
      text.record(
        'model_version_kind:tritonobs_tokens:rate%(medium)s',
        text.all([
          |||
            max by (%(subject)s, kind) (
              model_version_stage_kind:tritonobs_stage_items:rate%(medium)s{kind=~"tokens_in|tokens_out"}
            )
          |||,
          tokens('tokens_in', 'vllm:prompt_tokens_total'),
          tokens('tokens_out', 'vllm:generation_tokens_total'),
          tokens('tokens_in', 'nv_llm_input_token_len_sum'),
          tokens('tokens_out', 'nv_llm_output_token_len_sum'),
        ])
      ) + shards.sum,
    ];
  { stages: stages, work: work }
