// Alerts about limits of requests, with the records that they read.
local fit = import '../lib/fit.libsonnet';
local of_limit = (import '../lib/limits.libsonnet').of_limit;
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local say = (import '../lib/phrases.libsonnet').say;

  // Traffic above its limit: the alert that must come within seconds. It follows its records in their group; in another
  // group it would wait for up to one interval more.
  local overflow =
    local record = 'subject:tritonobs_limit_exceeded:rate';
    local near = (import '../lib/limits.libsonnet').near_limit(config);
    local exceeds = (import '../lib/limits.libsonnet').exceeds('1', near);
    // An overflow can continue behind a full queue, or recur. Where a ruler writes late, the alert computes the condition
    // itself.
    local exceeded = fit(|||
      (
        %(now)s
        or on (%(subject)s)
        (
          subject:triton_requests_offered:rate%(short)s
            and on (%(subject)s)
          (subject:tritonobs_limit_kept:info or on (%(subject)s) subject:tritonobs_limit_again:info)
        )
      )
    |||, { now: if config.recordsAtOnce then record else exceeds });
    // The requests of a server that is scraped under two addresses count twice, so a rate of up to twice the limit may be
    // within it.
    local twice = fit(|||
      unless on (%(subject)s)
      (
        (
          subject:triton_requests_offered:rate5m
            <= on (%(subject)s)
          2 * %(limit)s
        )
          and on (%(model)s)
        model:triton_scraped_twice:info
      )
    |||, { limit: near.limit });
    local passed_on = |||
      unless on (%(model)s)
      model:tritonobs_limit_passed_on:info
    |||;
    near.records + [
      text.record(record, exceeds),
      text.alert('TritonQpsAboveLimit', 'critical', text.owned(exceeded + twice + passed_on), {
        summary: 'Requests exceed their limit.',
        description: say.subject + ' receives ' + say.number + ' requests/s; its limit is ' + say.limit + '.' + say.kept + say.returns('subject:tritonobs_limit_exceeded_begins:info') + say.waiting + say.causes +
                     ' Find the clients that send more than agreed and throttle them, or add capacity and raise the limit with `tritonobs limits set`.',
        summary_zh: say.subject_zh + ' 的请求超过限额。',
        description_zh: say.subject_zh + ' 每秒到达 ' + say.number + ' 个请求，限额为 ' + say.limit + '。' + say.kept_zh + say.returns_zh('subject:tritonobs_limit_exceeded_begins:info') + say.waiting_zh + say.causes_zh + '找出超量的调用方并让其降速；若有余量，可扩容并用 `tritonobs limits set` 提高限额。',
        board: boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m'),
      }, keep=config.limitKeepFiring),
    ];

  // Traffic near its limit. It crosses the warning share again and again, so the warning lasts until the traffic is clearly
  // below, or for some hours. It does not repeat a page. It follows its record in one group.
  local near =
    local exceeds = (import '../lib/limits.libsonnet').exceeds('%(limitWarningRatio)s', (import '../lib/limits.libsonnet').near_limit(config));
    local near = 'subject:tritonobs_limit_near';
    local page = 'ALERTS{alertname="TritonQpsAboveLimit", alertstate="firing"}';
    [
      // Within an hour of a page about the limit a warning adds nothing: traffic that falls stays near the limit for a
      // while, and may rise again.
      text.record(near + ':rate', fit(|||
        (
          %(near)s
        )
        unless on (%(subject)s)
        last_over_time(%(page)s[%(span1h)s])
        unless on (%(model)s)
        model:tritonobs_limit_passed_on:info
      |||, { near: exceeds, page: page })),
      text.record(near + ':timestamp_seconds', 'timestamp(' + near + ':rate)'),
      // The second part keeps the warning, unless the limit was exceeded since.
      text.alert('TritonQpsNearLimit', 'warning', text.owned(fit(|||
        %(near)s:rate
        or on (%(subject)s)
        (
          subject:triton_requests_offered:rate5m
            and on (%(subject)s)
          (
            %(since)s
              unless on (%(subject)s)
            (
              (
                max_over_time(subject:tritonobs_limit_exceeded:timestamp_seconds[%(limitNearHeld)s])
                  > on (%(subject)s)
                %(since)s
              )
              or on (%(subject)s)
              last_over_time(subject:tritonobs_limit_kept:info[%(limitNearHeld)s])
            )
          )
          and on (%(subject)s)
          (
            max_over_time(subject:triton_requests_offered:mean5m[%(span1h)s])
              > on (%(subject)s)
            %(limitLeftRatio)s * %(limitWarningRatio)s * subject:tritonobs_qps_limit:held
          )
          unless on (%(subject)s)
          last_over_time(%(page)s[%(span1h)s])
        )
      |||, { near: near, page: page, since: 'max_over_time(' + near + ':timestamp_seconds[%(limitNearHeld)s])' })), {
        summary: 'Requests are close to their limit.',
        description: say.subject + ' receives ' + say.number + ' requests/s; its limit is ' +
                     say.limit + '.' + say.waiting +
                     ' Check the expected traffic with its clients, and add capacity in advance. The warning resolves when traffic has been well below the limit for an hour.',
        summary_zh: say.subject_zh + ' 的请求接近限额。',
        description_zh: say.subject_zh + ' 每秒到达 ' + say.number + ' 个请求，限额为 ' + say.limit + '。' + say.waiting_zh + '询问调用方的计划，提前扩容。流量明显低于限额并持续一小时后，告警恢复。',
        board: boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m'),
      }, wait='1m', keep=config.limitKeepFiring),
    ];

  // Traffic that will exceed its limit: it rose in each part of a time, by more than chance, and neither yesterday nor last
  // week explains it.
  local forecast =
    // Means of 5 m and 15 m, for subjects with a limit.
    local quick = 'subject:triton_requests_offered:mean5m';
    local slow = 'subject:triton_requests_offered:mean15m';
    local limit = 'subject:tritonobs_qps_limit:held';
    local at(series, minutes) = if minutes == 0 then series else series + ' offset ' + text.span(minutes + 'm');
    local yesterday = at(slow, 1440);
    // The change of a series between two times, given as minutes ago.
    local gain(series, from, to=0) =
      fit('(%(after)s - on (%(subject)s) %(before)s)', { after: at(series, to), before: at(series, from) });
    local more(what, than) = fit('(%(what)s > on (%(subject)s) %(than)s)', { what: what, than: than });
    // Conditions of a rise that lasted `minutes`: each third has at least half of its share, and the whole is more than
    // chance. A step fills at most two thirds. If it continues, traffic exceeds the limit at the horizon. A mean over
    // `seconds` is half of that old, which is added to the horizon.
    local rises(series, seconds, minutes) =
      local ahead(horizon) =
        fit('%(series)s + on (%(subject)s) (%(horizon)s + %(age)s / 2) / %(seconds)s * %(gained)s', {
          series: series,
          horizon: horizon,
          age: std.toString(seconds),
          seconds: std.toString(60 * minutes),
          gained: gain(series, minutes),
        });
      std.join('\nand on (%(subject)s)\n', [
        more(ahead('%(forecastSeconds)s'), limit),
        // Without data of yesterday the rise of every morning looks like growth, so the limit must be nearer.
        '(' + more(ahead('0.4 * %(forecastSeconds)s'), limit) + ' or on (%(subject)s) ' + yesterday + ')',
        more(gain(series, minutes), fit('%(forecastNoise)s * sqrt(2 * %(limit)s / %(age)s)', {
          limit: limit,
          age: std.toString(seconds),
        })),
      ] + [
        more(gain(series, minutes * (third + 1) / 3, minutes * third / 3), gain(series, minutes) + ' / 6')
        for third in [0, 1, 2]
      ]);
    // Traffic rose at least half as much this many minutes `ago`. If it continues as it did then, it stays within the limit
    // at the half and at the end of the horizon.
    local explained(ago) =
      local ahead_of(minutes) = fit(|||
        and on (%(subject)s)
        (
          %(now)s
            * on (%(subject)s)
          (%(later)s / on (%(subject)s) (%(before)s > 0))
            <= on (%(subject)s)
          %(limit)s
        )
      |||, { now: slow, later: at(slow, ago - minutes), before: at(slow, ago), limit: limit });
      local after(share) = ahead_of(config.forecastSeconds / 60 * share);
      fit('(%(earlier)s >= on (%(subject)s) %(now)s / 2)\n', { earlier: gain(slow, ago + 45, ago), now: gain(slow, 45) }) +
      after(1 / 2) + after(1);
    [
      text.alert('TritonQpsWillExceedLimit', 'warning', text.owned(of_limit(fit(|||
        (
          (
            %(steep)s
          )
          or
          (
            %(even)s
          )
          or
          (
            %(gentle)s
          )
        )
        and on (%(subject)s)
        (%(quick)s > on (%(subject)s) %(forecastFloorRatio)s * %(limit)s)
        unless on (%(subject)s)
        (
          (
            %(yesterday)s
          )
          or
          (
            %(last_week)s
          )
        )
        unless on (%(subject)s)
        (subject:triton_requests_offered:rate%(short)s > on (%(subject)s) %(limit)s)
      |||, {
        steep: rises(quick, 300, 15),
        even: rises(quick, 300, 30),
        // A mean of 15 m rises for 15 m after the traffic has stopped rising, so the mean of 5 m must still rise.
        gentle: rises(slow, 900, 45) + '\nand on (%(subject)s)\n' + more(gain(quick, 15), gain(slow, 45) + ' / 6'),
        quick: quick,
        limit: limit,
        yesterday: explained(1440),
        last_week: explained(10080),
      }))), {
        summary: 'Traffic is growing towards its request limit.',
        description: say.subject + ' will receive ' + say.number + ' requests/s in {{ %(forecastSeconds)s | humanizeDuration }} if its traffic continues to grow; its limit is ' +
                     say.limit +
                     '. ' + say.unexplained + ' Add capacity now, or agree on less traffic with the clients.',
        summary_zh: say.subject_zh + ' 的请求即将超过限额。',
        description_zh: '若流量继续增长，{{ %(forecastSeconds)s | humanizeDuration }} 后 ' + say.subject_zh + ' 每秒将到达 ' + say.number + ' 个请求，限额为 ' + say.limit + '。' + say.unexplained_zh + '请提前扩容，或与调用方协商。',
        board: boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m'),
      }, wait='4m', keep=config.forecastKeepFiring),
    ];

  // The other alerts about limits. Only `overflow` pages.
  local others =
    local board = boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m');
    local disagree(series, by) = fit(|||
      max by (%(by)s) (%(series)s) != on (%(by)s) min by (%(by)s) (%(series)s)
    |||, { series: series, by: by });
    {
      soon: text.group('alerts.limits', config.modelInterval, [
        // Evaluated a minute after the burst, and only if that minute as a whole is within the limit: an excess that fills
        // it is not a burst. An excess of half a minute has been reported by the page, which is over by then. The value is
        // the highest rate between two scrapes.
        text.alert('TritonQpsSpike', 'warning', text.owned(of_limit(|||
          (
            max_over_time(subject:triton_requests_offered:irate%(short)s{model!=""}[%(spikeWindow)s] offset %(medium)s)
              and on (%(subject)s)
            max_over_time(subject:tritonobs_limit_burst:timestamp_seconds[%(modelInterval)s] offset %(medium)s)
          )
          and on (%(subject)s)
          (
            subject:triton_requests_offered:mean%(medium)s
              <= on (%(subject)s)
            subject:tritonobs_qps_limit:held
          )
            unless on (%(subject)s)
          present_over_time(subject:tritonobs_limit_exceeded:rate[%(span5m)s])
        |||)), {
          summary: 'A burst far exceeded the request limit.',
          description: say.subject + ' received ' + say.number + ' requests/s between two scrapes; its limit is ' + say.limit +
                       '. The mean of the minute is within it. Ask the clients to spread such bursts, or check that the queue can hold them.',
          summary_zh: say.subject_zh + ' 出现远超限额的突发流量。',
          description_zh: say.subject_zh + ' 在两次抓取之间每秒到达 ' + say.number + ' 个请求，限额为 ' + say.limit + '；整分钟仍在限额之内。请调用方把突发分散，或确认队列承受得住。',
          board: board,
        }, keep=config.spikeKeepFiring),
        text.alert('TritonLimitSourceLost', 'warning', |||
          (
            group by (%(cluster)s) (last_over_time(cluster:tritonobs_known:info[%(span1h)s] offset %(span2m)s))
              unless on (%(cluster)s)
            group by (%(cluster)s) (tritonobs_model_info)
          )
          or
          tritonobs_limit_source_up{%(serve)s} == 0
        |||, {
          summary: 'Limits or objectives are no longer updated.',
          description: '{{ if $labels.source }}tritonobs serve on {{ $labels.instance }} cannot read limits from {{ $labels.source }}: the last ones stay in force, and changes have no effect. Its log has the reason; check the address, the token and the API server.{{ else }}No tritonobs_model_info%(of_cluster)s reaches Prometheus. The last limits and objectives stay in force for an hour; after that there are none. Restart `tritonobs serve`, or load objectives.rules.yml.{{ end }}',
          summary_zh: '限额{{ with $labels.source }}（来自 {{ . }}）{{ else }}和目标{{ end }}不再更新。',
          description_zh: '{{ if $labels.source }}{{ $labels.instance }} 上的 tritonobs serve 无法从 {{ $labels.source }} 读取限额：沿用最后的值，修改不生效。原因见其日志；请检查地址、令牌和 API 服务器。{{ else }}没有 tritonobs_model_info%(cluster_zh)s到达 Prometheus。最后的限额和目标保留一小时，之后没有限额被监视。请重新启动 `tritonobs serve`，或加载 objectives.rules.yml。{{ end }}',
          board: boards.link('delivery', [], 'subject:tritonobs_qps_limit:held'),
          // Longer than TritonobsServeDown (1 m), which reports the same.
        }, wait='90s'),
        text.alert('TritonLimitRefused', 'warning', 'tritonobs_limit_annotations_refused{%(serve)s} > 0', {
          summary: 'Limits written as annotations are rejected.',
          description: say.number + ' annotations are not valid limits: the last valid value of each stays in force; an annotation that never had one has no effect. The log of tritonobs serve on {{ $labels.instance }} names the Deployment and what is allowed.',
          summary_zh: '以注解写的限额被拒绝。',
          description_zh: '有 ' + say.number + ' 条注解不能作为限额：沿用各自最后的有效值；从未有过有效值的注解不起作用。{{ $labels.instance }} 上 tritonobs serve 的日志写明是哪个 Deployment 以及允许的写法。',
          board: boards.link('delivery', [], 'tritonobs_limit_annotations_refused'),
        }, wait='30s'),
      ]),
      // Alerts that wait for minutes.
      later: text.group('alerts.limits.minutes', config.slowInterval, [
        // With two values for one limit the larger holds, which is a guess. A changed file reaches every source within the
        // wait.
        text.alert('TritonLimitsDisagree', 'warning', text.all([
          disagree('tritonobs_qps_limit', '%(subject)s'),
          disagree('tritonobs_tokens_per_second_limit', '%(subject)s, kind'),
          disagree('tritonobs_slo_objective_ratio', '%(subject)s, slo'),
          disagree('tritonobs_latency_target_seconds', '%(subject)s, slo'),
        ]), {
          summary: 'Two sources disagree about a limit or an objective.',
          description: say.subject + ' has two values of one limit or objective{{ with $labels.slo }} ({{ . }}){{ end }}{{ with $labels.kind }} ({{ . }}){{ end }}: the larger, ' + say.number + ', is in force. Two `tritonobs serve`, or one and a rules file, follow different fleet files: compare them, and stop the one that is out of date.',
          summary_zh: '两个来源的限额或目标不一致。',
          description_zh: say.subject_zh + ' 的同一限额或目标{{ with $labels.slo }}（{{ . }}）{{ end }}{{ with $labels.kind }}（{{ . }}）{{ end }}有两个值：较大的 ' + say.number + ' 生效。两个 `tritonobs serve`（或 serve 与规则文件）使用了不同的集群文件，请核对并停掉过时的一个。',
          board: boards.link('delivery', [], 'subject:tritonobs_qps_limit:held'),
        }, wait='2m'),
      ]),
    };
  { overflow: overflow, near: near, forecast: forecast, others: others }
