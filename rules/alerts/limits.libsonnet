// Requests a second against their limits: a model version, a model over its versions, the fleet. The one alert that
// wakes people stands in overflow.libsonnet, the forecast in forecast.libsonnet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local board = boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m');
  local limit = say.look('subject:tritonobs_qps_limit:held', ['model', 'version']);
  local chance = import '../lib/chance.libsonnet';
  local of_limit = import '../lib/of_limit.libsonnet';
  local disagree(series, by) = fit(|||
    max by (%(by)s) (%(series)s) != on (%(by)s) min by (%(by)s) (%(series)s)
  |||, { series: series, by: by });
  {
    soon: text.group('alerts.limits', config.evaluationInterval, [
      // A minute later, and while that minute as a whole is within the limit: what fills it is not a burst.
      text.alert('TritonQpsSpike', 'warning', text.owned(of_limit(fit(|||
        %(burst)s
        and on (%(subject)s)
        (
          subject:triton_requests_offered:mean%(medium)s
            <= on (%(subject)s)
          subject:tritonobs_qps_limit:held
        )
      |||, { burst: chance.burst('{model!=""}', ' offset %(medium)s') }))), {
        summary: 'A burst went far above the limit of requests.',
        description: say.subject + ' was offered ' + say.number + ' requests/s between two scrapes, its limit is ' + limit +
                     '; the minute as a whole stays within it. Ask the callers to spread such bursts, or check that the queue takes them.',
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
        summary: 'Limits and objectives are not delivered any more.',
        description: '{{ if $labels.source }}tritonobs serve on {{ $labels.instance }} cannot read limits from {{ $labels.source }}: the last ones stay in force, changes have no effect. Its log says why; look at the address, the token and the API server.{{ else }}No tritonobs_model_info%(of_cluster)s reaches Prometheus. The last limits and objectives hold for an hour, then no limit is watched. Start `tritonobs serve` again, or load objectives.rules.yml.{{ end }}',
        board: boards.link('delivery', [], 'subject:tritonobs_qps_limit:held'),
        // Later than that serve is down, which tells the same.
      }, wait='90s'),
      text.alert('TritonLimitRefused', 'warning', 'tritonobs_limit_annotations_refused{%(serve)s} > 0', {
        summary: 'Limits written as annotations are refused.',
        description: say.number + ' annotations cannot be meant as limits: the last good value of each stays in force, or none. The log of tritonobs serve on {{ $labels.instance }} names the Deployment and what is allowed.',
        board: boards.link('delivery', [], 'tritonobs_limit_annotations_refused'),
      }, wait='30s'),
    ]),
    // They wait for minutes.
    later: text.group('alerts.limits.minutes', config.stageInterval, [
      // Of two sources the larger value holds, which is a guess. A changed file reaches all of them within the wait.
      text.alert('TritonLimitsDisagree', 'warning', text.all([
        disagree('tritonobs_qps_limit', '%(subject)s'),
        disagree('tritonobs_tokens_per_second_limit', '%(subject)s, kind'),
        disagree('tritonobs_slo_objective_ratio', '%(subject)s, slo'),
        disagree('tritonobs_latency_target_seconds', '%(subject)s, slo'),
      ]), {
        summary: 'Two sources disagree about a limit or an objective.',
        description: say.subject + ' has two values of one limit or objective{{ with $labels.slo }} ({{ . }}){{ end }}{{ with $labels.kind }} ({{ . }}){{ end }}: the larger, ' + say.number + ', holds. Two `tritonobs serve`, or one and a rules file, follow different fleet files: compare them, and end the one that is out of date.',
        board: boards.link('delivery', [], 'subject:tritonobs_qps_limit:held'),
      }, wait='2m'),
    ]),
  }
