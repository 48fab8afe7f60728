// Batches and the response cache.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local mean_of = import '../lib/mean.libsonnet';
  local rate(name, counter) =
    text.record(
      'model_version:triton_' + name + ':rate%(short)s',
      'sum by (%(subject)s) (rate(' + counter + '{%(triton)s}[%(short)s]))'
    ) + shards.sum;
  local per_execution(name, what) =
    text.record(
      name,
      mean_of('model_version:triton_' + what + ':rate%(short)s', 'model_version:triton_executions:rate%(short)s')
    );
  [
    rate('inferences', 'nv_inference_count'),
    rate('executions', 'nv_inference_exec_count'),
    rate('cache_hits', 'nv_cache_num_hits_per_model'),
    rate('cache_misses', 'nv_cache_num_misses_per_model'),
    per_execution('model_version:triton_batch_size:mean5m', 'inferences'),
    // How many requests share an execution: what dynamic batching is for.
    per_execution('model_version:triton_requests_per_executions:ratio5m', 'requests_computed'),
    text.record('model_version:triton_cache_hits_per_lookups:ratio5m', |||
      avg_over_time(model_version:triton_cache_hits:rate%(short)s[%(span5m)s])
        /
      (
        avg_over_time(model_version:triton_cache_hits:rate%(short)s[%(span5m)s])
          +
        avg_over_time(model_version:triton_cache_misses:rate%(short)s[%(span5m)s])
          > 0
      )
    |||),
  ]
