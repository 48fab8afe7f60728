// Requests over five minutes, and their times inside Triton, in seconds; of times successes only, as Triton counts them.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local shards = import '../lib/shards.libsonnet';
  local mean_of = import '../lib/mean.libsonnet';
  local rate(level, by, name, counters) =
    text.record(
      level + ':triton_' + name + '_duration_seconds:rate%(short)s',
      // Added up before they are joined: a row for each model, not for each counter of each server.
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
    rate('replica_model_version', '%(subject)s, %(replica)s', 'request', ['request']),
    text.record('model_version:triton_request_duration_seconds:rate%(short)s', |||
      sum by (%(subject)s) (replica_model_version:triton_request_duration_seconds:rate%(short)s)
    |||),
    rate('model_version', '%(subject)s', 'queue', ['queue']),
    rate('model_version', '%(subject)s', 'compute', ['compute_input', 'compute_infer', 'compute_output']),
    // What the cache answered was never computed.
    text.record('model_version:triton_requests_computed:rate%(short)s', fit(|||
      model_version:triton_requests_succeeded:rate%(short)s
        - on (%(subject)s)
      %(hits)s
      or
      model_version:triton_requests_succeeded:rate%(short)s
    |||, {
      hits: text.given(
        'model_version:triton_cache_hits:rate%(short)s',
        shards.sum,
        'sum by (%(subject)s) (rate(nv_cache_num_hits_per_model{%(triton)s}[%(short)s]))',
      ),
    })),
    text.record('model_version:triton_requests:rate5m', |||
      avg_over_time(model_version:triton_requests:rate%(short)s[%(span5m)s])
      and
      model_version:triton_requests:rate%(short)s
    |||),
    mean('request', 'triton_requests_succeeded'),
    mean('queue', 'triton_requests_succeeded'),
    mean('compute', 'triton_requests_computed'),
    // Little's law: seconds spent a second are requests under way.
    text.record('model_version:triton_requests_in_flight:mean5m', |||
      avg_over_time(model_version:triton_request_duration_seconds:rate%(short)s[%(span5m)s])
    |||),
    text.record('model_version:triton_requests_pending:sum', |||
      sum by (%(subject)s) (nv_inference_pending_request_count{%(triton)s})
    |||) + shards.sum,
    // Ensembles publish a load time that stays 0.
    text.record('model_version:triton_model_load_seconds:max', |||
      max by (%(subject)s) (nv_model_load_duration_secs{%(triton)s} > 0)
    |||) + shards.max,
  ]
