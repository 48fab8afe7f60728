// The health of models: waiting, saturation, batches, stages, errors, reloads, the cache.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local on_model(record) = boards.link('model', ['model', 'version'], record);
  local on_stage(record) = boards.link('pipeline', ['model', 'version', 'stage'], record);
  local errors = 'model_version_stage_reason:tritonobs_stage_errors:rate%(medium)s';
  local failures = 'model_version_reason:triton_requests_failed:rate%(short)s';
  // Against the hour before, once there are ten minutes of it. A reason new to the model counts too; a new version
  // does not make a reason new.
  local surges(record, by) = put(|||
    (
      (avg_over_time(<record>[5m]) >= %(surgeErrors)d / 300)
        > on (%(subject)s, <by>)
      %(surgeRatio)s * avg_over_time(<record>[1h] offset 5m)
      or
      (avg_over_time(<record>[5m]) >= %(surgeErrors)d / 300)
        unless on (%(model)s, <by>)
      avg_over_time(<record>[1h] offset 5m)
    )
    and on (%(model)s)
    (model_version:triton_requests:rate5m offset 10m)
  |||, { record: record, by: by });
  text.group('alerts.models', config.stageInterval, [
    text.alert('TritonQueueWaitHigh', 'warning', text.owned(|||
      model_version:triton_queue_duration_seconds:mean5m > %(queueSeconds)s
    |||), {
      summary: 'Requests to ' + say.model + ' wait long before anything happens.',
      description: 'Requests to ' + say.model + ' wait ' + say.seconds +
                   ' on average for a free model instance. Add model instances or replicas, let batches grow, or shorten the time batches wait to fill.',
      board: on_model('model_version:triton_queue_duration_seconds:mean5m'),
    }, wait='5m'),
    text.alert('TritonSaturated', 'warning', text.owned(|||
      (model_version:tritonobs_workers_busy:ratio5m > %(busyRatio)s)
      and on (%(subject)s)
      (
        avg_over_time(model_version:triton_requests_pending:sum[5m])
          > on (%(subject)s)
        avg_over_time(model_version:triton_requests_pending:sum[5m] offset 5m)
      )
    |||), {
      summary: 'All model instances of ' + say.model + ' are busy and more requests pile up.',
      description: 'The model instances of ' + say.model + ' work ' + say.percent +
                   ' of the time, and ever more requests wait. Add model instances or replicas, or slow the callers down.',
      board: on_model('model_version:tritonobs_workers_busy:ratio5m'),
    }, wait='5m'),
    text.alert('TritonBatchInefficient', 'info', text.owned(|||
      (model_version:triton_requests_per_executions:ratio5m < %(requestsPerExecution)s)
      and on (%(subject)s)
      (avg_over_time(model_version:triton_queue_duration_seconds:rate%(short)s[5m]) > %(waitingRequests)s)
    |||), {
      summary: 'Requests to ' + say.model + ' wait, yet are executed one by one.',
      description: 'An execution of ' + say.model + ' takes ' + say.number +
                   ' requests on average while others wait. Switch dynamic batching on, or raise max_batch_size and the preferred sizes.',
      board: on_model('model_version:triton_requests_per_executions:ratio5m'),
    }, wait='10m'),
    text.alert('TritonStageSlow', 'warning', text.owned(|||
      (
        model_version_stage:tritonobs_stage_duration_seconds:p95_5m{stage!="total"}
          > on (%(subject)s, stage)
        min by (%(subject)s, stage) (subject_slo:tritonobs_latency_target_seconds:held)
      )
      or
      (
        model_version_stage:tritonobs_stage_duration_seconds:p95_5m{stage!="total"}
          > on (%(subject)s) group_left ()
        %(stageBudgetRatio)s
          * min by (%(subject)s) (subject_slo:tritonobs_latency_target_seconds:held{stage="total"})
      )
    |||), {
      summary: 'Stage {{ $labels.stage }} of ' + say.model + ' is slower than its budget.',
      description: 'One request in twenty of ' + say.model + ' spends more than ' + say.seconds +
                   ' in stage {{ $labels.stage }} alone. Look at the sizes it was given and at what changed.',
      board: on_stage('model_version_stage:tritonobs_stage_duration_seconds:p95_5m'),
    }, wait='5m'),
    text.alert('TritonErrorReasonSurge', 'warning', text.owned(
      text.all([surges(errors, 'stage, reason'), surges(failures, 'reason')])
    ), {
      summary: say.model + ' fails far more often for the reason {{ $labels.reason }}.',
      description: '{{ with $labels.stage }}Stage {{ . }} of {{ end }}' + say.model + ' fails ' + say.number +
                   ' times a second for the reason {{ $labels.reason }}, over %(surgeRatio)s times as often as in the hour before. Look at who sends such requests, and at what was rolled out.',
      board: on_model('model_version_reason:triton_requests_failed:rate' + config.shortWindow),
    }, wait='1m', keep='5m'),
    text.alert('TritonCacheCollapse', 'warning', text.owned(|||
      (
        model_version:triton_cache_hits_per_lookups:ratio5m
          < on (%(subject)s)
        %(cacheDropRatio)s
          * (avg_over_time(model_version:triton_cache_hits_per_lookups:ratio5m[1h] offset 10m) > %(cacheWorthRatio)s)
      )
      and on (%(subject)s)
      (model_version:triton_requests:rate5m * 300 >= %(silenceRequests)s)
    |||), {
      summary: 'The response cache of ' + say.model + ' hardly helps any more.',
      description: 'Of the requests to ' + say.model + ' the cache answers ' + say.percent +
                   ', less than half of what it did an hour ago. Look for new input, a cache that is too small, or a reload.',
      board: on_model('model_version:triton_cache_hits_per_lookups:ratio5m'),
    }, wait='5m'),
    text.alert('TritonModelReloaded', 'info', text.owned(|||
      count by (%(subject)s, %(replica)s) (
        tritonobs_heartbeat_timestamp_seconds{%(triton)s}
          unless
        tritonobs_heartbeat_timestamp_seconds{%(triton)s} offset %(medium)s
      )
      and on (%(subject)s, %(replica)s)
      (replica_model_version:triton_requests_succeeded:rate%(short)s offset %(medium)s)
      or
      max by (%(subject)s, %(replica)s) (changes(nv_model_load_duration_secs{%(triton)s}[%(medium)s]) > 0)
    |||), {
      summary: say.model + ' was reloaded on {{ $labels.%(replicaLabel)s }}.',
      description: 'The workers of ' + say.model +
                   ' on {{ $labels.%(replicaLabel)s }} are new: the model was reloaded, restarted or got more model instances. First requests after it are slower; compare errors and latency before and after.',
      board: on_model('model_version:tritonobs_workers:count'),
    }, keep='5m'),
  ])
