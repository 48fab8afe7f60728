// The limits in force, and the traffic they are about. `version=""` is a model over all versions, `model=""` the fleet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  text.group('limits', config.evaluationInterval, [
    text.record('limit_subject:tritonobs_qps_limit:effective', |||
      max by (%(model_version)s) (tritonobs_qps_limit)
    |||),
  ])
