// What stages were given and made, what went wrong in them, and tokens.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  // A reason that is new to a worker has no series before its first errors, and `rate` would see none of them. What a
  // server shows that showed no such series a window ago, though it was scraped, all happened since.
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
    // What else fails often enough for a surge: few reasons do.
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
    // Our own counters first, then vLLM's and TensorRT-LLM's. Two stages that count the same tokens count once.
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
  ]
