// The processes of Python models. A worker's name is its model instance, its pid and a serial number.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local instance(series) =
    'label_replace(' + series + ', "model_instance", "$1", "worker", "(.+)-[0-9]+-[0-9a-f]+")';
  [
    // 0 is a model instance without a living worker. Whether a heartbeat moves needs no agreement about the time.
    text.record('model_instance:tritonobs_heartbeats:changes%(medium)s', put(|||
      max by (%(subject)s, %(replica)s, model_instance) (
        <beats>
      )
      and on (%(subject)s, %(replica)s)
      replica_model_version:triton_requests_succeeded:rate%(short)s
    |||, { beats: instance('changes(tritonobs_heartbeat_timestamp_seconds{%(triton)s}[%(medium)s])') })),
    text.record('model_version:tritonobs_workers:count', |||
      count by (%(subject)s) (model_instance:tritonobs_heartbeats:changes%(medium)s > 0)
    |||),
    text.record('model_version:tritonobs_heartbeat_age_seconds:max', put(|||
      max by (%(subject)s) (
        min by (%(subject)s, %(replica)s, model_instance) (
          <ages>
        )
        and
        model_instance:tritonobs_heartbeats:changes%(medium)s
      )
    |||, { ages: instance('time() - tritonobs_heartbeat_timestamp_seconds{%(triton)s}') })),
    // Share of the time that model instances work: each request of a batch is charged the whole batch. Where larger
    // batches take longer and sizes vary it errs upwards: no counter tells how often each size ran.
    text.record('model_version:tritonobs_workers_busy:ratio5m', |||
      avg_over_time(model_version:triton_compute_duration_seconds:rate%(short)s[5m])
        / on (%(subject)s)
      model_version:triton_requests_per_executions:ratio5m
        / on (%(subject)s)
      model_version:tritonobs_workers:count
    |||),
  ]
