// Alerts about models: queues, saturation, batches, stages, errors, reloads and the cache.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local say = (import '../lib/phrases.libsonnet').say;
  local on_model(record) = boards.link('model', ['model', 'version'], record);
  local on_stage(record) = boards.link('pipeline', ['model', 'version', 'stage'], record);
  local failures = 'model_version_reason:triton_requests_failed';
  local again = (import '../lib/again.libsonnet').returning(config).invalid;
  local errors = 'model_version_stage_reason:tritonobs_stage_errors';
  // A mean of 5 m continues for 5 m after the last request. Models with more than six requests a minute, and none in the
  // last medium window, are excluded.
  local ended = |||
    unless on (%(subject)s)
    (
      (model_version:triton_requests:rate5m > 0.1)
        and on (%(subject)s)
      (model_version:triton_requests:rate%(medium)s == 0)
    )
  |||;
  // A mean of 5 m continues for 5 m after the last failure, falling. These versions had a failure in the last 2 m.
  local failing_now = fit(|||
    (
      (sum_over_time(model_version:triton_requests_bad:increase[%(span2m)s]) > 0)
      or
      (sum by (%(subject)s) (sum_over_time(%(failures)s:rate%(short)s[%(span2m)s])) > 0)
    )
  |||, { failures: failures });
  // Errors of stages, without those that are the caller's fault.
  local stage_errors(record) = errors + ':' + record + '{outcome=""}';
  // Enough errors for a surge. Few reasons have them, so the comparison is computed for those only.
  local many_stage_errors = fit('(%(mean)s >= %(surgeErrors)s / %(seconds5m)s)', { mean: stage_errors('rate5m') });
  // Recorded beside the errors of stages.
  local many_failures = failures + ':mean5m';
  // Compared with the usual rate of the last hour, once there are ten minutes of traffic. A reason that is new to the model
  // counts too. A new version alone does not make a reason new.
  local surges(now, usual, by) = fit(|||
    (
      %(now)s
        > on (%(subject)s, %(by)s)
      %(surgeRatio)s * %(usual)s
        > on (%(subject)s, %(by)s)
      (%(usual)s + (%(surgeNoise)s * sqrt(%(usual)s * %(seconds5m)s) + %(surgeNoise)s) / %(seconds5m)s)
      or
      %(now)s
        unless on (%(model)s, %(by)s)
      %(usual)s
    )
    and on (%(model)s)
    (model_version:triton_requests:rate5m offset %(span10m)s)
  |||, { now: now, usual: usual, by: by });
  // A new worker or a new load time. It uses an offset instead of `changes`, because VictoriaMetrics' `changes` counts the
  // first sample of a series, and the first after a gap.
  local reloaded = text.part('replica_model_version:triton_reloaded:count', shards.max, |||
    count by (%(subject)s, %(replica)s) (
      (
        tritonobs_heartbeat_timestamp_seconds{%(triton)s}
          unless
        tritonobs_heartbeat_timestamp_seconds{%(triton)s} offset %(span2m)s
      )
      unless on (%(replica_only)s)
      (up{%(triton)s} offset %(span2m)s == 0)
    )
    and on (%(subject)s, %(replica)s)
    (replica_model_version:triton_requests_succeeded:rate%(short)s offset %(span2m)s)
    or
    count by (%(subject)s, %(replica)s) (
      nv_model_load_duration_secs{%(triton)s} != nv_model_load_duration_secs{%(triton)s} offset %(span2m)s
    )
  |||);
  // Input that a stage refused, which is the caller's fault.
  local refused = errors + ':rate5m{outcome="invalid"}';
  local calls = 'pipeline_stage_model:tritonobs_pipeline_calls:held';
  // Stages of pipelines that pass on what a member refused, and their stage `total`.
  local passed_on = fit(|||
    (
      label_replace(
        group by (%(pipeline)s, stage) (
          %(calls)s
            and on (%(model)s)
          (%(refused)s > 0)
        ),
        "model", "$1", "pipeline", "(.*)"
      )
      or
      label_replace(
        label_replace(
          group by (%(pipeline)s) (
            %(calls)s
              and on (%(model)s)
            (%(refused)s > 0)
          ),
          "model", "$1", "pipeline", "(.*)"
        ),
        "stage", "total", "", ""
      )
    )
  |||, { calls: calls, refused: refused });
  local all = say.look('model_version:triton_requests:rate5m', ['model', 'version']);
  local of_requests = ', of ' + all + ' that it receives';
  // Pipelines that fail at most 1.25 times as often as their members: the members are the cause. Where no member fails, the
  // errors are the pipeline's own.
  local failed = 'sum by (%(model)s) (sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s]))';
  local of_members = fit(|||
    (
      %(failed)s
        <= on (%(model)s)
      1.25 * (%(members)s > 0)
    )
  |||, { failed: failed, members: (import '../lib/burns.libsonnet').reported(config).members(failed) });
  // Versions with invalid requests and too few charged failures for a surge: their failures in Triton's counters are the
  // caller's fault.
  local callers_fault = fit(|||
    (
      (
        model_version:triton_requests_invalid:increase5m
      )
      unless on (%(subject)s)
      (sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s]) >= %(surgeErrors)s)
    )
  |||, {});
  // Refused input far above the usual rate of a day. No series names the caller, but stage and reason say what was refused.
  // It lasts until the input is good again, or was as bad for a third of a day, when it has become usual.
  local invalid = fit(|||
    (
      (
        %(refused)s
          >= on (%(subject)s) group_left ()
        %(invalidRatio)s * model_version:triton_requests:rate5m
      )
        >= %(surgeErrors)s / %(seconds5m)s
    )
    unless on (%(subject)s, stage, reason)
    (
      %(refused)s
        <= on (%(subject)s, stage, reason, outcome)
      %(surgeRatio)s * model_version_stage_reason:tritonobs_stage_invalid:mean1d
    )
    unless on (%(model)s, stage)
    %(passed_on)s
  |||, { refused: refused, passed_on: passed_on });
  // Models about whose errors a page fires: the page names the reason.
  local paged = text.all([
    fit(|||
      (
        %(burns)s
          unless on (%(subject)s, slo)
        slo:tritonobs_counted:info{stage!=""}
      )
    |||, { burns: tier.named('ratio') })
    for tier in (import '../lib/burns.libsonnet').tiers(config)
    if tier.severity == 'critical'
  ]);
  {
    // In the group of the records that it reads.
    again: again.records(invalid) + [
      text.alert('TritonInvalidInputSurge', 'warning', text.owned_version(again.alert(invalid)), {
        summary: 'Clients send invalid input.',
        description: 'Stage {{ $labels.stage }} of ' + say.model + ' rejects ' + say.number +
                     ' requests/s as {{ $labels.reason }}' + of_requests + ". This is the client's fault and charged to no error budget." + say.returns('model_version_stage_reason:tritonobs_invalid_surge_begins:info') + ' Find the client in the logs of the gateway: Triton does not know its clients. If there was a deployment, check what it accepts.',
        summary_zh: '调用方发来无效的输入。',
        description_zh: say.model_zh + ' 的阶段 {{ $labels.stage }} 每秒以 {{ $labels.reason }} 拒绝 ' + say.number + ' 个请求，它每秒共收到 ' + say.look('model_version:triton_requests:rate5m', ['model', 'version']) + ' 个：这是调用方的问题，不计入任何错误预算。' + say.returns_zh('model_version_stage_reason:tritonobs_invalid_surge_begins:info') + '请从调用该模型的服务的日志中找出是哪个客户端，Triton 不知道调用方是谁；若刚有发布，请查看新版本接受什么输入。',
        board: on_stage(errors + ':rate5m'),
      }, wait='1m', keep='1m'),
    ],
    // Alerts that end with the traffic.
    soon: text.group('alerts.models', config.modelInterval, [
      text.alert('TritonQueueWaitHigh', 'warning', text.owned_version(fit(|||
        (model_version:triton_queue_duration_seconds:mean5m > %(queueSeconds)s)
        and on (%(subject)s)
        (model_version:triton_requests:rate5m * %(seconds5m)s >= %(queueRequests)s)
        %(ended)s
      |||, { ended: ended })), {
        summary: 'Requests wait too long in the queue.',
        description: 'Requests to ' + say.model + ' wait ' + say.seconds +
                     ' on average for a free model instance. Add model instances or replicas, allow larger batches, or shorten the queue delay of the batcher.',
        summary_zh: '对 ' + say.model_zh + ' 的请求在处理前等待很久。',
        description_zh: '对 ' + say.model_zh + ' 的请求平均等待 ' + say.seconds + ' 才有空闲的模型实例。请增加模型实例或副本，让批更大，或缩短等待凑批的时间。',
        board: on_model('model_version:triton_queue_duration_seconds:mean5m'),
      }, wait='5m'),
      text.alert('TritonSaturated', 'warning', text.owned_version(fit(|||
        (model_version:tritonobs_workers_busy:ratio5m > %(busyRatio)s)
        and on (%(subject)s)
        (
          avg_over_time(model_version:triton_requests_pending:sum[%(span5m)s])
            > on (%(subject)s)
          avg_over_time(model_version:triton_requests_pending:sum[%(span5m)s] offset %(span5m)s)
        )
        %(ended)s
      |||, { ended: ended })), {
        summary: 'All model instances are busy and the queue is growing.',
        description: 'The model instances of ' + say.model + ' are ' + say.percent +
                     ' busy, and its queue is growing. Add model instances or replicas, or throttle the clients.',
        summary_zh: say.model_zh + ' 的所有模型实例都在忙，等待的请求越来越多。',
        description_zh: say.model_zh + ' 的模型实例有 ' + say.percent + ' 的时间在工作，等待的请求越来越多。请增加模型实例或副本，或让调用方降速。',
        board: on_model('model_version:tritonobs_workers_busy:ratio5m'),
      }, wait='5m'),
    ]),
    // Alerts that read stages, which are recorded once a minute.
    later: text.group('alerts.models.minutes', config.stageInterval, [
      text.alert('TritonBatchInefficient', 'info', text.owned_version(fit(|||
        (model_version:triton_requests_per_executions:ratio5m < %(requestsPerExecution)s)
        and on (%(subject)s)
        (avg_over_time(model_version:triton_queue_duration_seconds:rate%(short)s[%(span5m)s]) > %(waitingRequests)s)
        %(ended)s
      |||, { ended: ended })), {
        summary: 'Requests are queued but not batched.',
        description: 'An execution of ' + say.model + ' takes ' + say.number +
                     ' requests on average while others wait. Enable dynamic batching, or raise max_batch_size and preferred_batch_size.',
        summary_zh: '对 ' + say.model_zh + ' 的请求在等待，却被逐个执行。',
        description_zh: say.model_zh + ' 每次执行平均只含 ' + say.number + ' 个请求，而其他请求在等待。请打开动态批处理，或提高 max_batch_size 和首选批大小。',
        board: on_model('model_version:triton_requests_per_executions:ratio5m'),
      }, wait='10m'),
      text.alert('TritonStageSlow', 'warning', text.owned_version(fit(|||
        (
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
        )
        %(ended)s
      |||, { ended: ended })), {
        summary: 'A stage is slower than its budget.',
        description: 'One request in twenty of ' + say.model + ' spends more than ' + say.seconds +
                     ' in stage {{ $labels.stage }} alone. Check the sizes of its input and recent changes.',
        summary_zh: say.model_zh + ' 的阶段 {{ $labels.stage }} 超出预算。',
        description_zh: say.model_zh + ' 每二十个请求就有一个仅在阶段 {{ $labels.stage }} 就花费超过 ' + say.seconds + '。请查看它收到的输入大小以及最近的变更。',
        board: on_stage('model_version_stage:tritonobs_stage_duration_seconds:p95_5m'),
      }, wait='5m'),
      text.alert('TritonErrorReasonSurge', 'warning', text.owned_version(fit(|||
        (
          (
            %(surges)s
          )
          unless
          (
            (
              %(errors)s < 0.75 * %(errors)s offset %(span2m)s
              or
              %(failures)s < 0.75 * %(failures)s offset %(span2m)s
            )
            unless on (%(subject)s)
            %(failing_now)s
          )
        )
        unless on (%(model)s)
        %(of_members)s
        unless on (%(model)s)
        (
          %(paged)s
        )
        %(ended)s
      |||, {
        ended: ended,
        paged: paged,
        errors: stage_errors('rate5m'),
        failures: many_failures,
        failing_now: failing_now,
        surges: text.all([
          surges(many_stage_errors, stage_errors('mean1h'), 'stage, reason'),
          fit(|||
            (
              %(surges)s
            )
            unless on (%(subject)s)
            %(callers_fault)s
          |||, {
            surges: surges(many_failures, failures + ':mean1h', 'reason'),
            callers_fault: callers_fault,
          }),
        ]),
        of_members: of_members,
      })), {
        summary: 'Failures for one reason have surged.',
        description: '{{ with $labels.stage }}Stage {{ . }} of {{ end }}' + say.model + ' fails ' + say.number +
                     ' times per second for the reason {{ $labels.reason }}: new, or over %(surgeRatio)s times as often as in the hour before. Check the clients that send such requests, and recent rollouts.',
        summary_zh: say.model_zh + ' 因 {{ $labels.reason }} 失败的次数大增。',
        description_zh: '{{ with $labels.stage }}阶段 {{ . }}，{{ end }}' + say.model_zh + ' 每秒因 {{ $labels.reason }} 失败 ' + say.number + ' 次：是新出现的原因，或超过前一小时的 %(surgeRatio)s 倍。请查看是谁发出这些请求，以及最近发布了什么。',
        board: on_model('model_version_reason:triton_requests_failed:rate' + config.shortWindow),
        // Longer than a page about the same failures needs, which makes this alert superfluous.
      }, wait='4m', keep='1m'),
      text.alert('TritonCacheCollapse', 'warning', text.owned_version(fit(|||
        (
          model_version:triton_cache_hits_per_lookups:ratio5m
            < on (%(subject)s)
          %(cacheDropRatio)s
            * (avg_over_time(model_version:triton_cache_hits_per_lookups:ratio5m[%(span1h)s] offset %(span10m)s) > %(cacheWorthRatio)s)
        )
        and on (%(subject)s)
        (model_version:triton_requests:rate5m * %(seconds5m)s >= %(silenceRequests)s)
        %(ended)s
      |||, { ended: ended })), {
        summary: 'The hit ratio of the response cache has dropped.',
        description: 'The response cache hit ratio of ' + say.model + ' is ' + say.percent +
                     ', below {{ %(cacheDropRatio)s | humanizePercentage }} of its mean in the hour before. Check for new input, a cache that is too small, or a reload.',
        summary_zh: say.model_zh + ' 的响应缓存命中率大幅下降。',
        description_zh: say.model_zh + ' 的响应缓存命中率为 ' + say.percent + '，不到前一小时平均值的 {{ %(cacheDropRatio)s | humanizePercentage }}。请查看是否有新的输入、缓存过小，或刚刚重新加载。',
        board: on_model('model_version:triton_cache_hits_per_lookups:ratio5m'),
      }, wait='5m'),
      text.alert('TritonModelReloaded', 'info', text.owned_version(reloaded.here), {
        summary: 'A model was reloaded.',
        description: 'The workers of ' + say.model +
                     ' on {{ $labels.%(replicaLabel)s }} are new: the model was reloaded, restarted or got more model instances. The first requests after that are slower. Compare errors and latency before and after.',
        summary_zh: say.model_zh + ' 在 {{ $labels.%(replicaLabel)s }} 上被重新加载。',
        description_zh: '{{ $labels.%(replicaLabel)s }} 上 ' + say.model_zh + ' 的工作进程是新的：模型被重新加载、重启，或增加了模型实例。之后的头几个请求会较慢；请比较前后的错误和延迟。',
        board: on_model('model_version:tritonobs_workers:count'),
      }, keep='4m') + shards.parts([reloaded]),
    ]),
  }
