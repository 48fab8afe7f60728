// Alerts about tritonobs itself, its rules, and the delivery of alerts.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local crowd = (import '../lib/servers.libsonnet').crowd;
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local board = boards.link('delivery', [], 'tritonobs_delivery_errors_total');
  // The increase of a counter over 5 m for each of our groups. A Prometheus that is too slow, or cannot write, affects all
  // of them, so many groups become one row (`crowd`).
  local of_our_groups(counter) = crowd(fit(|||
    label_replace(
      increase(%(counter)s{rule_group=~".+;tritonobs[.-].+"}[%(span5m)s]) > 0,
      "group", "$1", "rule_group", ".+;(tritonobs[.-].+)"
    )
  |||, { counter: counter }), '%(prometheus)s');
  local groups_zh = '{{ with $labels.group }}规则组 {{ . }} {{ else }} {{ $value }} 个规则组{{ end }}';
  local groups = '{{ with $labels.group }}group {{ . }}{{ else }}{{ $value }} groups{{ end }}';
  // The chat of a robot, where `serve` says it; a join would lose the alert where it does not.
  local chat = '{{ with printf "tritonobs_robot_info{%(clusterIs)srobot=%%q}" %(clusterValue)s(print $labels.robot) | query }} ({{ . | first | label "chat" }}){{ end }}';
  // `tritonobs serve`: whether it works, and whether its messages arrive.
  local serve = [
    text.alert('Watchdog', 'info', 'vector(1) == 1', {
      summary: 'The alerting path works.',
      description: 'This alert always fires with the value {{ $value }}. When it stops arriving, Prometheus, Alertmanager or the delivery to you is broken.',
      summary_zh: '告警链路正常。',
      description_zh: '这条告警始终触发，其值为 {{ $value }}。一旦收不到它，就说明 Prometheus、Alertmanager 或通往您的链路断了。',
      board: board,
    }),
    // One of several that answers is enough: it delivers alerts and exports limits.
    text.alert('TritonobsServeDown', 'critical', |||
      (up{%(serve)s} == 0)
      unless on (%(cluster)s)
      (up{%(serve)s} == 1)
    |||, {
      summary: 'Prometheus cannot scrape tritonobs serve.',
      description: 'Prometheus cannot scrape {{ $labels.instance }}: no message of its robots is sent, and limits stay in force for an hour. Restart `tritonobs serve`; Alertmanager repeats the alerts.',
      summary_zh: 'tritonobs serve 没有应答。',
      description_zh: 'Prometheus 无法抓取 {{ $labels.instance }}：机器人的消息发不出去，限额保留一小时。请重新启动 `tritonobs serve`；告警由 Alertmanager 重复发送。',
      board: board,
    }, wait='1m'),
    text.alert('TritonobsFleetFileInvalid', 'warning', 'tritonobs_config_valid{%(serve)s} == 0', {
      summary: 'The current fleet file is invalid.',
      description: 'The fleet file on {{ $labels.instance }} has errors, so the last valid one stays in use and later changes have no effect. Run `tritonobs validate` on it.',
      summary_zh: 'tritonobs serve 拒绝当前的集群文件。',
      description_zh: '{{ $labels.instance }} 上的集群文件有错误，沿用最后的有效版本，之后的修改不生效。请对它执行 `tritonobs validate`。',
      board: board,
    }, wait='30s'),
    text.alert('TritonobsDeliveryFailing', 'critical', |||
      (sum by (%(robot)s) (rate(tritonobs_delivery_errors_total{%(serve)s}[%(medium)s])) > 0)
      and on (%(robot)s)
      (tritonobs_delivery_waiting_calls{%(serve)s} > 0)
    |||, {
      summary: 'Messages to a robot are not delivered.',
      description: 'Robot {{ $labels.robot }}' + chat + ' rejects messages or cannot be reached while alerts wait for it. Its metric tritonobs_delivery_errors_total has the code; `tritonobs notify test {{ $labels.robot }}` repeats it.',
      summary_zh: '发给机器人 {{ $labels.robot }} 的消息无法送达。',
      description_zh: '有告警在等待，而机器人 {{ $labels.robot }}' + chat + ' 拒收消息或不可达。指标 tritonobs_delivery_errors_total 写明错误码；`tritonobs notify test {{ $labels.robot }}` 可复现。',
      board: board,
    }, wait='1m', keep='2m'),
    text.alert('TritonobsRobotMuted', 'warning', 'tritonobs_robot_muted{%(serve)s} == 1', {
      summary: 'A robot is muted by its chat.',
      description: 'Robot {{ $labels.robot }}' + chat + ' is muted: together with its other users it sent more messages than the chat allows. DingTalk mutes for ten minutes. Alerts wait. Give alerts a robot of their own, or a second one.',
      summary_zh: '机器人 {{ $labels.robot }} 被平台禁言。',
      description_zh: '机器人 {{ $labels.robot }}' + chat + '（连同其他使用者）发送的消息超过平台的限额，被禁言（钉钉为十分钟）；告警在等待。请给告警单独的机器人，或再加一个。',
      board: board,
    }),
    // A task that fails right after each start is down. A task that works in between and fails again is counted, too.
    text.alert('TritonobsTaskFailing', 'warning', |||
      (tritonobs_task_up{%(serve)s} == 0)
      or
      (increase(tritonobs_task_failures_total{%(serve)s}[%(span15m)s]) > 5)
    |||, {
      summary: 'A task of tritonobs serve fails.',
      description: 'tritonobs serve on {{ $labels.instance }} restarts its task {{ $labels.task }} repeatedly. The work of this task is not done; all other tasks continue. /readyz of serve says since when and why.',
      summary_zh: 'tritonobs serve 的一个任务失败。',
      description_zh: '{{ $labels.instance }} 上的 tritonobs serve 一再重启任务 {{ $labels.task }}。该任务的工作没有完成，其余照常。serve 的 /readyz 说明何时开始及原因。',
      board: boards.link('delivery', [], 'tritonobs_task_up'),
    }, wait='2m'),
  ];
  // Prometheus, which evaluates our rules.
  local rules = [
    text.alert('TritonobsRulesFailing', 'warning', of_our_groups('prometheus_rule_evaluation_failures_total'), {
      summary: 'Rules of tritonobs fail.',
      description: 'Prometheus on {{ $labels.instance }} could not evaluate rules of ' + groups + ': their records are missing and their alerts cannot fire. Status, Rules in Prometheus shows the error.',
      summary_zh: '{{ $labels.instance }} 上 tritonobs 的规则执行失败。',
      description_zh: 'Prometheus 无法执行' + groups_zh + '：它的记录缺失，它的告警不会触发。错误见 Status 下的 Rules 页面。',
      board: boards.link('delivery', [], 'prometheus_rule_evaluation_failures_total'),
    }, wait='1m', keep='5m'),
    text.alert('TritonobsRulesLate', 'warning', of_our_groups('prometheus_rule_group_iterations_missed_total'), {
      summary: 'Evaluations of tritonobs rules were skipped because Prometheus is too slow.',
      description: 'Prometheus on {{ $labels.instance }} skipped evaluations of ' + groups + ', because the previous one took longer than its interval: alerts come late and records have gaps. Give Prometheus more CPU or faster disks, or raise evaluation_interval.',
      summary_zh: 'Prometheus 跳过了 tritonobs 规则的计算。',
      description_zh: '{{ $labels.instance }} 上的 Prometheus 跳过了' + groups_zh + '的计算，因为上一次耗时超过间隔：告警会晚到，记录会有空缺。请给 Prometheus 更多资源，或调大 evaluation_interval。',
      board: boards.link('delivery', [], 'prometheus_rule_group_iterations_missed_total'),
    }, wait='1m', keep='5m'),
  ];
  // Which of several `serve` in one Kubernetes cluster delivers.
  local delivers = [
    text.alert('TritonobsNobodyDelivers', 'critical', |||
      max by (%(cluster)s) (tritonobs_delivers{%(serve)s}) == 0
    |||, {
      summary: 'No tritonobs serve delivers alerts.',
      description: 'No running tritonobs serve%(of_cluster)s holds the Lease: each returns 503, and no message of their robots is sent. The log of serve says why the Lease cannot be acquired; usually the permission on Leases is missing. Alertmanager repeats the alerts.',
      summary_zh: '没有 tritonobs serve 在发送告警。',
      description_zh: '没有任何运行中的 tritonobs serve%(cluster_zh)s持有 Lease：每个都返回 503，没有任何机器人消息发出。日志说明为何取不到 Lease，多半是缺少 Lease 的权限。Alertmanager 会重复发送告警。',
      board: boards.link('delivery', [], 'tritonobs_delivers'),
    }, wait='1m'),
  ];
  { serve: serve, rules: rules, delivers: delivers }
