// Models in Triton's counters: times, batches, the cache, and workers.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
local mean_of = (import '../lib/counters.libsonnet').mean;
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  local counted(name, counter) =
    text.record(
      'model_version:triton_' + name + ':rate%(short)s',
      'sum by (%(subject)s) (rate(' + counter + '{%(triton)s}[%(short)s]))'
    ) + shards.sum;

  // Rates and means of times inside Triton, in seconds. Triton counts the times of successful requests only, so means divide
  // by these.
  local latency =
    local rate(level, by, name, counters) =
      text.record(
        level + ':triton_' + name + '_duration_seconds:rate%(short)s',
        // Counters are summed by model before they are added: the join has a row for each model, not for each counter of
        // each server.
        '(\n  ' + std.join('\n  + ', [
          'sum by (' + by + ') (rate(nv_inference_' + counter + '_duration_us{%(triton)s}[%(short)s]))'
          for counter in counters
        ]) + '\n) / 1e6',
      ) + shards.sum;
    local mean(name, requests) =
      local seconds = 'model_version:triton_' + name + '_duration_seconds';
      text.record(
        seconds + ':mean5m',
        mean_of(seconds + ':rate%(short)s', 'model_version:' + requests + ':rate%(short)s')
      );
    [
      // What models report of their requests.
      text.record('model_version_outcome:tritonobs_requests:rate%(short)s', |||
        sum by (%(subject)s, outcome) (rate(tritonobs_requests_total{%(triton)s}[%(short)s]))
      |||) + shards.sum,
      rate('replica_model_version', '%(subject)s, %(replica)s', 'request', ['request']),
      text.record('model_version:triton_request_duration_seconds:rate%(short)s', |||
        sum by (%(subject)s) (replica_model_version:triton_request_duration_seconds:rate%(short)s)
      |||),
      rate('model_version', '%(subject)s', 'queue', ['queue']),
      rate('model_version', '%(subject)s', 'compute', ['compute_input', 'compute_infer', 'compute_output']),
      // The successful requests of the same evaluation: what is divided must be of one moment.
      text.record('model_version:triton_requests_timed:rate%(short)s', |||
        model_version:triton_requests_succeeded:rate%(short)s
      |||),
      counted('cache_hits', 'nv_cache_num_hits_per_model'),
      counted('cache_misses', 'nv_cache_num_misses_per_model'),
      // Successful requests without cache hits, which Triton adds no compute time for.
      text.record('model_version:triton_requests_computed:rate%(short)s', |||
        model_version:triton_requests_timed:rate%(short)s
          - on (%(subject)s)
        model_version:triton_cache_hits:rate%(short)s
        or
        model_version:triton_requests_timed:rate%(short)s
      |||),
      text.record('model_version:triton_requests:rate5m', |||
        avg_over_time(model_version:triton_requests:rate%(short)s[%(span5m)s])
        and
        model_version:triton_requests:rate%(short)s
      |||),
      mean('request', 'triton_requests_timed'),
      mean('queue', 'triton_requests_timed'),
      mean('compute', 'triton_requests_computed'),
      // Little's law: seconds of requests per second are the number of requests in flight.
      text.record('model_version:triton_requests_in_flight:mean5m', |||
        avg_over_time(model_version:triton_request_duration_seconds:rate%(short)s[%(span5m)s])
      |||),
      // The load time of an ensemble stays 0.
      text.record('model_version:triton_model_load_seconds:max', |||
        max by (%(subject)s) (nv_model_load_duration_secs{%(triton)s} > 0)
      |||) + shards.max,
    ];

  // Batches and the response cache.
  local batching =
    local per_execution(name, what) =
      text.record(
        name,
        mean_of('model_version:triton_' + what + ':rate%(short)s', 'model_version:triton_executions:rate%(short)s')
      );
    [
      counted('inferences', 'nv_inference_count'),
      counted('executions', 'nv_inference_exec_count'),
      per_execution('model_version:triton_batch_size:mean5m', 'inferences'),
      // Requests per execution: the effect of dynamic batching.
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
    ];

  // Workers, the processes of Python models. The label `worker` is the model instance, the pid and a serial number.
  local workers =
    local instance(series) =
      'label_replace(' + text.trimmed(series) + ', "model_instance", "$1", "worker", "(.+)-[0-9]+-[0-9a-f]+")';
    [
      // Whether a model instance is alive, for rules, boards and commands: 1 while the heartbeat of one of its workers
      // changes, 0 while it does not change on a server that answers. There is no row for an unreachable server or an
      // unloaded version. It needs three scrapes, and no synchronized clocks.
      text.record('model_instance:tritonobs_worker_alive:bool', fit(|||
        (
          max by (%(subject)s, %(replica)s, model_instance) (
            %(beats)s
          ) > bool 0
        )
        and on (%(subject)s, %(replica)s)
        replica_model_version:triton_requests_succeeded:rate%(short)s
        unless on (%(replica_only)s)
        replica:triton_unreachable:info
      |||, { beats: instance(|||
        changes(tritonobs_heartbeat_timestamp_seconds{%(triton)s}[%(medium)s])
          and
        count_over_time(tritonobs_heartbeat_timestamp_seconds{%(triton)s}[%(medium)s]) >= 3
      |||) })) + shards.max,
      // Model instances that complete requests, for instances without a heartbeat: one that completes none may have been
      // removed.
      text.record('model_instance:tritonobs_worker_answers:info', fit(|||
        group by (%(subject)s, %(replica)s, model_instance) (
          %(answered)s
        )
      |||, {
        answered: instance('rate(tritonobs_stage_duration_seconds_count{%(triton)s, stage="total"}[%(medium)s]) > 0'),
      })) + shards.max,
      text.record('model_version:tritonobs_workers:count', |||
        count by (%(subject)s) (model_instance:tritonobs_worker_alive:bool > 0)
      |||),
      text.record('model_version:tritonobs_heartbeat_age_seconds:max', fit(|||
        max by (%(subject)s) (
          min by (%(subject)s, %(replica)s, model_instance) (
            %(ages)s
          )
          and on (%(subject)s, %(replica)s, model_instance)
          model_instance:tritonobs_worker_alive:bool
        )
      |||, { ages: instance('time() - tritonobs_heartbeat_timestamp_seconds{%(triton)s}') })) + shards.max,
      // The share of time in which model instances work. Triton charges each request of a batch the time of the whole batch,
      // hence the division by requests per execution. Where larger batches take longer and sizes vary, the result is too
      // high, because no counter has the distribution of batch sizes. It is capped at 1.
      text.record('model_version:tritonobs_workers_busy:ratio5m', |||
        clamp_max(
          avg_over_time(model_version:triton_compute_duration_seconds:rate%(short)s[%(span5m)s])
            / on (%(subject)s)
          model_version:triton_requests_per_executions:ratio5m
            / on (%(subject)s)
          model_version:tritonobs_workers:count,
          1
        )
      |||),
    ];
  { latency: latency, batching: batching, workers: workers }
