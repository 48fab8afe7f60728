// tritonobs itself, the rules, and the way alerts take.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local board = boards.link('delivery', [], 'tritonobs_delivery_errors_total');
  text.group('alerts.tritonobs', config.evaluationInterval, [
    text.alert('Watchdog', 'none', 'vector(1) == 1', {
      summary: 'The alerting path works.',
      description: 'This alert always fires. When it stops arriving, Prometheus, Alertmanager or the way to you is broken.',
      board: board,
    }),
    text.alert('TritonobsServeDown', 'critical', 'up{%(serve)s} == 0', {
      summary: 'tritonobs serve does not answer.',
      description: 'Prometheus cannot scrape {{ $labels.instance }}: no DingTalk message leaves, and limits hold for an hour. Start `tritonobs serve` again; Alertmanager keeps what waits.',
      board: board,
    }, wait='1m'),
    text.alert('TritonobsFleetFileInvalid', 'warning', 'tritonobs_config_valid{%(serve)s} == 0', {
      summary: 'tritonobs serve refuses the fleet file as it is now.',
      description: 'The fleet file on {{ $labels.instance }} has errors, so the last good one stays in use and later changes have no effect. Run `tritonobs validate` on it.',
      board: board,
    }, wait='30s'),
    text.alert('TritonobsDeliveryFailing', 'critical', |||
      (sum by (robot, instance) (rate(tritonobs_delivery_errors_total{%(serve)s}[%(medium)s])) > 0)
      and on (robot, instance)
      (tritonobs_delivery_waiting_calls{%(serve)s} > 0)
    |||, {
      summary: 'Messages to robot {{ $labels.robot }} do not get through.',
      description: 'DingTalk robot {{ $labels.robot }} refuses messages or cannot be reached while alerts wait for it. Its metric tritonobs_delivery_errors_total names the code; `tritonobs notify test {{ $labels.robot }}` repeats it.',
      board: board,
    }, wait='1m', keep='2m'),
    text.alert('TritonobsRobotMuted', 'warning', 'tritonobs_robot_muted{%(serve)s} == 1', {
      summary: 'DingTalk mutes robot {{ $labels.robot }}.',
      description: 'Robot {{ $labels.robot }} sent more than 20 messages in a minute, with whatever else uses it, and is mute for ten minutes; alerts wait. Give alerts a robot of their own, or a second one.',
      board: board,
    }),
    // Only groups of ours get the label; what has none is the others' business.
    text.alert('TritonobsRulesFailing', 'warning', |||
      label_replace(
        increase(prometheus_rule_evaluation_failures_total[5m]) > 0,
        "group", "$1", "rule_group", ".+;(tritonobs[.].+)"
      )
      unless on (group)
      label_replace(vector(0), "group", "", "", "")
    |||, {
      summary: 'Rules of tritonobs fail on {{ $labels.instance }}.',
      description: 'Prometheus could not evaluate rules of group {{ $labels.group }}: what they record is missing and what they alert on is not watched. The page Status, Rules shows the error.',
      board: boards.link('delivery', [], 'prometheus_rule_evaluation_failures_total'),
    }, wait='1m', keep='5m'),
  ])
