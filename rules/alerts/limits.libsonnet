// Requests a second against their limits: a model version, a model over its versions, the fleet. The one alert that
// wakes people stands in overflow.libsonnet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local board = boards.link('model', ['model', 'version'], 'subject:triton_requests:rate5m');
  local limit = say.look('subject:tritonobs_qps_limit:held', ['model', 'version']);
  local exceeds = import '../lib/exceeds.libsonnet';
  local of_limit = import '../lib/of_limit.libsonnet';
  text.group('alerts.limits', config.evaluationInterval, [
    text.alert('TritonQpsNearLimit', 'warning', text.owned(exceeds('%(limitWarningRatio)s')), {
      summary: say.subject + ' is near its limit of requests.',
      description: say.subject + ' gets ' + say.number + ' requests/s, its limit is ' + limit +
                   '. Ask its callers what they plan, and add capacity before it is needed.',
      board: board,
    }, wait='1m', keep=config.limitKeepFiring),
    text.alert('TritonQpsSpike', 'warning', text.owned(of_limit(|||
      (
        (
          model_version:triton_requests_succeeded:irate%(short)s
          or
          sum by (%(model)s) (model_version:triton_requests_succeeded:irate%(short)s)
        )
          >= on (%(subject)s)
        subject:tritonobs_qps_limit:held
          + clamp_min((%(spikeRatio)s - 1) * subject:tritonobs_qps_limit:held, %(spikeRequests)s / %(scrapeSeconds)s)
      )
      unless on (%(subject)s)
      (subject:triton_requests:rate%(short)s > on (%(subject)s) subject:tritonobs_qps_limit:held)
    |||)), {
      summary: say.subject + ' got a burst far above its limit.',
      description: say.subject + ' answered ' + say.number + ' requests/s between two scrapes, its limit is ' + limit +
                   '; averages hide it. Ask the callers to spread such bursts, or check that the queue takes them.',
      board: board,
    }, keep=config.spikeKeepFiring),
    // Three values, each 5 m apart, rise. After a step they do so too while the windows pass over it, 5 m and the
    // short window long: hence the wait.
    text.alert('TritonQpsWillExceedLimit', 'warning', text.owned(of_limit(|||
      (
        predict_linear(subject:triton_requests:rate5m[10m], %(forecastSeconds)d)
          > on (%(subject)s)
        subject:tritonobs_qps_limit:held
      )
      and on (%(subject)s)
      (subject:triton_requests:rate5m > on (%(subject)s) %(forecastFloorRatio)s * subject:tritonobs_qps_limit:held)
      and on (%(subject)s)
      (
        subject:triton_requests:rate5m - on (%(subject)s) subject:triton_requests:rate5m offset 5m
          > on (%(subject)s)
        %(forecastGainRatio)s * subject:tritonobs_qps_limit:held
      )
      and on (%(subject)s)
      (
        subject:triton_requests:rate5m offset 5m - on (%(subject)s) subject:triton_requests:rate5m offset 10m
          > on (%(subject)s)
        %(forecastGainRatio)s * subject:tritonobs_qps_limit:held
      )
      unless on (%(subject)s)
      (subject:triton_requests:rate%(short)s > on (%(subject)s) subject:tritonobs_qps_limit:held)
    |||)), {
      summary: say.subject + ' will exceed its limit of requests soon.',
      description: say.subject + ' would get ' + say.number + ' requests/s in {{ %(forecastSeconds)d | humanizeDuration }} if its traffic goes on growing as in the last ten minutes; its limit is ' + limit +
                   '. Add capacity now, or agree with the callers on less.',
      board: board,
    }, wait='10m', keep=config.spikeKeepFiring),
    text.alert('TritonLimitSourceLost', 'warning', |||
      absent(tritonobs_model_info)
      or
      tritonobs_limit_source_up{%(serve)s} == 0
    |||, {
      summary: 'Limits {{ with $labels.source }}from {{ . }}{{ else }}and objectives{{ end }} are not delivered any more.',
      description: '{{ if $labels.source }}tritonobs serve on {{ $labels.instance }} cannot read limits from {{ $labels.source }}: the last ones stay in force, changes have no effect. Its log says why; look at the address, the token and the API server.{{ else }}No tritonobs_model_info reaches Prometheus. The last limits and objectives hold for an hour, then no limit is watched. Start `tritonobs serve` again, or load objectives.rules.yml.{{ end }}',
      board: boards.link('delivery', [], 'subject:tritonobs_qps_limit:held'),
    }, wait='30s'),
    text.alert('TritonLimitRefused', 'warning', 'tritonobs_limit_annotations_refused{%(serve)s} > 0', {
      summary: 'Limits written as annotations are refused.',
      description: say.number + ' annotations cannot be meant as limits: the last good value of each stays in force, or none. The log of tritonobs serve on {{ $labels.instance }} names the Deployment and what is allowed.',
      board: boards.link('delivery', [], 'tritonobs_limit_annotations_refused'),
    }, wait='30s'),
  ])
