// Mean times of a request inside Triton, in seconds; successes only, as Triton counts them.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local seconds(name, counters) =
    text.record(
      'model_version:triton_%s_duration_seconds:rate%%(short)s' % name,
      'sum by (%(model_version)s) (\n  ' + std.join('\n  + ', [
        'rate(nv_inference_%s_duration_us{%%(triton)s}[%%(short)s])' % counter
        for counter in counters
      ]) + '\n) / 1e6',
    );
  local mean(name) =
    text.record('model_version:triton_%s_duration_seconds:mean5m' % name, |||
      avg_over_time(model_version:triton_%(name)s_duration_seconds:rate%%(short)s[5m])
        /
      (avg_over_time(model_version:triton_requests_succeeded:rate%%(short)s[5m]) > 0)
    ||| % { name: name });
  text.group('latency', config.evaluationInterval, [
    seconds('request', ['request']),
    seconds('queue', ['queue']),
    seconds('compute', ['compute_input', 'compute_infer', 'compute_output']),
    mean('request'),
    mean('queue'),
    mean('compute'),
  ])
