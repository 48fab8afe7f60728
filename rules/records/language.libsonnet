// Language models under one name for vLLM's and TensorRT-LLM's backends. Times to the first token and between tokens are
// stages (lib/counters.libsonnet); tokens are in stages.libsonnet. docs/language-models.md has the vendors' names.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local by(level, how, series) = how + ' by (' + level + ') (' + series + '{%(triton)s})';
  local blocks(kind) = 'nv_trt_llm_kv_cache_block_metrics{%(triton)s, kv_cache_block_type="' + kind + '"}';
  local requests(kind) =
    'sum by (%(subject)s, %(replica)s) (nv_trt_llm_request_metrics{%(triton)s, request_type="' + kind + '"})';
  local replica = '%(subject)s, %(replica)s';
  local one_of(list) = std.join('\nor on (%(subject)s, %(replica)s)\n', list);
  local counted(name) = 'sum by (%(subject)s) (rate(' + name + '{%(triton)s}[%(span5m)s]))';
  local looked_up(name, what) =
    text.part('model_version:vllm_' + name + '_' + what + ':rate5m', shards.sum, counted('vllm:' + name + '_' + what + '_total'));
  local caches = [
    { hits: looked_up(name, 'hits'), queries: looked_up(name, 'queries') }
    for name in ['prefix_cache', 'gpu_prefix_cache']
  ];
  local hits = std.join('\nor on (%(subject)s)\n', [
    fit('%(hits)s\n  /\n(%(queries)s > 0)', { hits: cache.hits.here, queries: cache.queries.here })
    for cache in caches
  ]);
  local whole(name, how, operation) =
    text.record('model_version:tritonobs_' + name + ':' + operation, fit(
      '%(how)s by (%(subject)s) (replica_model_version:tritonobs_%(name)s:%(operation)s)',
      { how: how, name: name, operation: operation }
    ));
  local gauges = [
    // By server, because a full cache on one server affects the requests sent there; and the fullest cache of a model
    // version.
    text.record('replica_model_version:tritonobs_kv_cache_used:ratio', one_of([
      by(replica, 'max', 'vllm:kv_cache_usage_perc'),
      by(replica, 'max', 'vllm:gpu_cache_usage_perc'),
      fit('max by (%(subject)s, %(replica)s) (\n  %(used)s\n    / ignoring (kv_cache_block_type)\n  (%(most)s > 0)\n)', {
        used: blocks('used'),
        most: blocks('max'),
      }),
    ])) + shards.max,
    text.record('replica_model_version:tritonobs_llm_requests_waiting:sum', one_of([
      by(replica, 'sum', 'vllm:num_requests_waiting'),
      requests('waiting'),
      // For a TensorRT-LLM that does not export waiting requests: active minus scheduled ones.
      fit('clamp_min(\n%(active)s\n  -\n%(scheduled)s,\n0\n)', {
        active: requests('active'),
        scheduled: requests('scheduled'),
      }),
    ])) + shards.max,
    text.record('replica_model_version:tritonobs_llm_requests_running:sum', one_of([
      by(replica, 'sum', 'vllm:num_requests_running'),
      requests('scheduled'),
    ])) + shards.max,
    whole('kv_cache_used', 'max', 'ratio'),
    whole('llm_requests_waiting', 'sum', 'sum'),
    whole('llm_requests_running', 'sum', 'sum'),
  ];
  local goodput = [
    // Goodput: the request rate times one minus the bad shares of the first token and of later tokens. Histograms do not say
    // which requests missed both thresholds, so both shares are subtracted.
    text.record('model_version:tritonobs_goodput:rate5m', |||
      model_version:triton_requests:rate5m
        * on (%(subject)s) group_left ()
      clamp_min(
        1 - sum by (%(subject)s) (
          slo:sli_error:ratio_rate5m
            * on (%(subject)s, slo) group_left ()
          (subject_slo:tritonobs_latency_target_seconds:held{stage=~"first_token|output_token"} * 0 + 1)
        ),
        0
      )
    |||),
  ];
  local shown = [
    text.record('model_version:tritonobs_llm_preemptions:rate5m', counted('vllm:num_preemptions_total')) + shards.sum,
    // TensorRT-LLM pauses requests that it cannot continue. It exports how many are paused now, not how many were.
    text.record('model_version:tritonobs_llm_requests_paused:mean5m', |||
      sum by (%(subject)s) (
        avg_over_time(nv_trt_llm_inflight_batcher_metrics{%(triton)s, inflight_batcher_specific_metric="paused_requests"}[%(span5m)s])
      )
    |||) + shards.sum,
    text.record('model_version:tritonobs_prefix_cache_hits_per_lookups:ratio5m', hits) +
    shards.parts([cache[what] for cache in caches for what in ['hits', 'queries']]),
    // Tokens per request, in and out.
    text.record('model_version_kind:tritonobs_tokens_per_requests:ratio5m', |||
      avg_over_time(model_version_kind:tritonobs_tokens:rate%(medium)s[%(span5m)s])
        / on (%(subject)s) group_left ()
      (avg_over_time(model_version:triton_requests_succeeded:rate%(short)s[%(span5m)s]) > 0)
    |||),
  ];
  { gauges: gauges, goodput: goodput, shown: shown }
