// tritonobs itself, the rules, and the way alerts take.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local crowd = (import '../lib/servers.libsonnet').crowd;
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local board = boards.link('delivery', [], 'tritonobs_delivery_errors_total');
  // What grew in the last 5 m, of the groups that are ours, each by its name. A Prometheus that is too slow, or cannot
  // write, is so for all of them.
  local of_our_groups(counter) = crowd(fit(|||
    label_replace(
      increase(%(counter)s{rule_group=~".+;tritonobs[.-].+"}[%(span5m)s]) > 0,
      "group", "$1", "rule_group", ".+;(tritonobs[.-].+)"
    )
  |||, { counter: counter }), '%(prometheus)s');
  local groups = '{{ with $labels.group }}group {{ . }}{{ else }}{{ $value }} groups{{ end }}';
  text.group('alerts.tritonobs', config.evaluationInterval, [
    text.alert('Watchdog', 'info', 'vector(1) == 1', {
      summary: 'The alerting path works.',
      description: 'This alert always fires with the value {{ $value }}. When it stops arriving, Prometheus, Alertmanager or the way to you is broken.',
      board: board,
    }),
    // Of several, one that answers is enough: it delivers and tells limits.
    text.alert('TritonobsServeDown', 'critical', |||
      (up{%(serve)s} == 0)
      unless on (%(cluster)s)
      (up{%(serve)s} == 1)
    |||, {
      summary: 'Prometheus gets no answer from tritonobs serve.',
      description: 'Prometheus cannot scrape {{ $labels.instance }}: no DingTalk message leaves, and limits hold for an hour. Start `tritonobs serve` again; Alertmanager keeps what waits.',
      board: board,
    }, wait='1m'),
    text.alert('TritonobsFleetFileInvalid', 'warning', 'tritonobs_config_valid{%(serve)s} == 0', {
      summary: 'The fleet file is refused as it is now.',
      description: 'The fleet file on {{ $labels.instance }} has errors, so the last good one stays in use and later changes have no effect. Run `tritonobs validate` on it.',
      board: board,
    }, wait='30s'),
    text.alert('TritonobsDeliveryFailing', 'critical', |||
      (sum by (%(robot)s) (rate(tritonobs_delivery_errors_total{%(serve)s}[%(medium)s])) > 0)
      and on (%(robot)s)
      (tritonobs_delivery_waiting_calls{%(serve)s} > 0)
    |||, {
      summary: 'Messages to a robot do not get through.',
      description: 'DingTalk robot {{ $labels.robot }} refuses messages or cannot be reached while alerts wait for it. Its metric tritonobs_delivery_errors_total names the code; `tritonobs notify test {{ $labels.robot }}` repeats it.',
      board: board,
    }, wait='1m', keep='2m'),
    text.alert('TritonobsRobotMuted', 'warning', 'tritonobs_robot_muted{%(serve)s} == 1', {
      summary: 'DingTalk mutes a robot.',
      description: 'Robot {{ $labels.robot }} sent more than 20 messages in a minute, with whatever else uses it, and is mute for ten minutes; alerts wait. Give alerts a robot of their own, or a second one.',
      board: board,
    }),
    // A task that fails at once after each start is down; one that works in between and fails again counts, too.
    text.alert('TritonobsTaskFailing', 'warning', |||
      (tritonobs_task_up{%(serve)s} == 0)
      or
      (increase(tritonobs_task_failures_total{%(serve)s}[%(span15m)s]) > 5)
    |||, {
      summary: 'A task of tritonobs serve fails.',
      description: 'tritonobs serve on {{ $labels.instance }} starts its task {{ $labels.task }} again and again. What the task does is not done; the rest goes on. /readyz of serve says since when and why.',
      board: boards.link('delivery', [], 'tritonobs_task_up'),
    }, wait='2m'),
    // A body holds many spans, so any body lost counts. Spans of requests that never ended come now and then: a share.
    text.alert('TritonobsTracesLost', 'warning', |||
      group by (%(receiver)s, reason) (
        increase(tritonobs_trace_dropped_total{%(traces)s, reason!="incomplete"}[%(span5m)s]) > 5
        or
        (
          increase(tritonobs_trace_dropped_total{%(traces)s, reason="incomplete"}[%(span5m)s])
            > on (%(receiver)s) group_left ()
          0.1 * sum by (%(receiver)s) (increase(tritonobs_trace_spans_total{%(traces)s}[%(span5m)s]))
        )
        or
        label_replace(
          increase(tritonobs_trace_forwarded_total{%(traces)s, outcome!="sent"}[%(span5m)s]) > 0,
          "reason", "collector", "", ""
        )
      )
    |||, {
      summary: 'Traces are lost.',
      description: 'The receiver of traces on {{ $labels.instance }} loses some of what it gets (reason {{ $labels.reason }}): percentiles from traces, and SLOs on them, rest on fewer requests, or the collector misses some.',
      board: boards.link('delivery', [], 'tritonobs_trace_dropped_total'),
    }, wait='5m'),
    // A batch lost on its way is in no counter of the receiver. Chance is that of a sample: none where all are traced.
    text.alert('TritonobsTracesIncomplete', 'warning', text.owned_whole(fit(|||
      (1 - replica_model:tritonobs_requests_traced:ratio1h)
        >
      %(untracedRatio)s
        + (
          %(untracedNoise)s * sqrt(
            replica_model:triton_requests_traceable:sum1h
              * on (%(model)s, %(replica)s)
            clamp_min(replica_model:tritonobs_trace_rate:max1h - 1, 0)
          ) + %(untracedRequests)s
        )
          / on (%(model)s, %(replica)s)
        replica_model:triton_requests_traceable:sum1h
    |||, {})), {
      summary: 'Traces stand for fewer requests than Triton counted.',
      description: 'Traces stand for {{ $value | humanizePercentage }} fewer requests to {{ $labels.model }} on {{ $labels.%(replicaLabel)s }} than Triton counted in the last hour: batches are lost between the server and the receiver, or the sample is not what its rate says. Percentiles from traces, and SLOs on them, do not know these requests.',
      board: boards.link('model', ['model'], 'replica_model:tritonobs_requests_traced:ratio1h'),
    }, wait='10m'),
    text.alert('TritonobsRulesFailing', 'warning', of_our_groups('prometheus_rule_evaluation_failures_total'), {
      summary: 'Rules of tritonobs fail.',
      description: 'Prometheus on {{ $labels.instance }} could not evaluate rules of ' + groups + ': what they record is missing and what they alert on is not watched. The page Status, Rules shows the error.',
      board: boards.link('delivery', [], 'prometheus_rule_evaluation_failures_total'),
    }, wait='1m', keep='5m'),
    text.alert('TritonobsRulesLate', 'warning', of_our_groups('prometheus_rule_group_iterations_missed_total'), {
      summary: 'Rules of tritonobs were left out because Prometheus is too slow.',
      description: 'Prometheus on {{ $labels.instance }} left out evaluations of ' + groups + ', because the one before took longer than its interval: alerts come late and records have gaps. Give Prometheus more CPU or faster disks, or raise evaluation_interval.',
      board: boards.link('delivery', [], 'prometheus_rule_group_iterations_missed_total'),
    }, wait='1m', keep='5m'),
  ])
