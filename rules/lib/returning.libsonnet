// Alerts that may come and go, with the record of what each is about.
local again = import 'again.libsonnet';
function(config) {
  down: again(config, 'replica:triton_outage:info', '%(replica_only)s', 'evaluation'),
  limit: again(config, 'subject:tritonobs_limit_exceeded:rate', '%(subject)s', 'evaluation', apart=true),
  dead: again(config, 'model_instance:tritonobs_worker_dead:info', '%(subject)s, %(replica)s, model_instance', 'evaluation', '15s'),
  unloaded: again(config, 'subject:tritonobs_model_unloaded:info', '%(subject)s', 'evaluation', '1m'),
  invalid: again(config, 'model_version_stage_reason:tritonobs_invalid_surge:rate', '%(subject)s, stage, reason', 'stage', '1m'),
}
