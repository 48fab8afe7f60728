// Requests a second against their limits: a model version, a model over its versions, the fleet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local subject = '{{ or $labels.model "The fleet" }}{{ with $labels.version }} version {{ . }}{{ end }}';
  local limit = |||
    {{ with printf "limit_subject:tritonobs_qps_limit:effective{model=%q,version=%q}" (print $labels.model) (print $labels.version) | query }}{{ . | first | value | printf "%.4g" }}{{ end }}
  |||;
  text.group('limits', config.evaluationInterval, [
    text.alert('TritonQpsAboveLimit', 'critical', |||
      limit_subject:triton_requests:rate%(short)s
        > on (%(model_version)s)
      limit_subject:tritonobs_qps_limit:effective
    |||, {
      summary: subject + ' gets more requests than its limit.',
      description: subject + ' gets {{ $value | printf "%.4g" }} requests/s, the limit is ' + std.stripChars(limit, '\n') +
                   '. Find who sends more than agreed and slow them down, or add capacity and raise the limit with `tritonobs limits set`.',
      board: boards.link('model', ['model', 'version'], 'limit_subject:triton_requests:rate' + config.shortWindow),
    }, keep=config.qpsKeepFiring),
  ])
