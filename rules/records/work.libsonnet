// What stages were given and made, what went wrong in them, and tokens.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local tokens(kind, series) =
    put(
      'label_replace(sum by (%(subject)s) (rate(<series>{%(triton)s}[%(medium)s])), "kind", "<kind>", "", "")',
      { series: series, kind: kind }
    );
  [
    text.record('model_version_stage_reason:tritonobs_stage_errors:rate%(medium)s', |||
      sum by (%(subject)s, stage, reason) (rate(tritonobs_stage_errors_total{%(triton)s}[%(medium)s]))
    |||),
    text.record('model_version_stage_kind:tritonobs_stage_items:rate%(medium)s', |||
      sum by (%(subject)s, stage, kind) (rate(tritonobs_stage_items_total{%(triton)s}[%(medium)s]))
    |||),
    text.record('model_version_stage_kind:tritonobs_stage_size:mean%(medium)s', |||
      sum by (%(subject)s, stage, kind) (rate(tritonobs_stage_size_sum{%(triton)s}[%(medium)s]))
        /
      (sum by (%(subject)s, stage, kind) (rate(tritonobs_stage_size_count{%(triton)s}[%(medium)s])) > 0)
    |||),
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
    ),
  ]
