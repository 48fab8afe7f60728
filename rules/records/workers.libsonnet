// The processes of Python models. A worker's name is its model instance, its pid and a serial number.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local instance(series) =
    'label_replace(' + text.trimmed(series) + ', "model_instance", "$1", "worker", "(.+)-[0-9]+-[0-9a-f]+")';
  [
    // What "alive" means, for rules, boards and commands alike: 1 while the heartbeat of any worker of the model
    // instance moves, 0 while it does not move on a server that answers, nothing where the server does not or the
    // version is not loaded. It needs three scrapes to tell, and no agreement about the time.
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
    // Model instances that answer, whatever their heartbeat does: one without a heartbeat that does not may have been
    // taken away.
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
    // Share of the time that model instances work: each request of a batch is charged the whole batch. Where larger
    // batches take longer and sizes vary it errs upwards: no counter tells how often each size ran. More than all of the
    // time it cannot be.
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
  ]
