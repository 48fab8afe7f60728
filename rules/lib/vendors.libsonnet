// What engines of language models export themselves, as stages of a request: no instrumentation needed. vLLM's backend
// has these since Triton 24.08 (the whole request since 24.09); `inter_token_latency` is the name of vLLM 0.11 for
// what was `time_per_output_token`. docs/language-models.md has the table. TensorRT-LLM's backend exports no times.
local fit = import 'fit.libsonnet';
local engines = [
  { stage: 'first_token', series: 'vllm:time_to_first_token_seconds' },
  { stage: 'output_token', series: 'vllm:inter_token_latency_seconds' },
  { stage: 'output_token', series: 'vllm:time_per_output_token_seconds' },
  { stage: 'total', series: 'vllm:e2e_request_latency_seconds' },
];
// `own`, and for models without it what engines export, or only of these `stages`: `of(series)` of each under the name of its stage,
// of those rows `only` the ones that are asked for. Of two names of the same thing the newer counts.
function(own, of, only='', stages=null)
  local trimmed(text) = if std.endsWith(text, '\n') then std.substr(text, 0, std.length(text) - 1) else text;
  local exported = std.join('\nor on (%(subject)s, stage)\n', [
    fit('label_replace(\n%(rows)s,\n"stage", "%(stage)s", "", ""\n)', {
      rows: trimmed(of(engine.series)),
      stage: engine.stage,
    })
    for engine in engines
    if stages == null || std.member(stages, engine.stage)
  ]);
  fit(|||
    %(own)s
    or on (%(subject)s, stage)
    (
      (
        %(exported)s
      )%(only)s
    )
  |||, { own: trimmed(own), exported: exported, only: only })
