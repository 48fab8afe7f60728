// What `tritonobs build` evaluates: the mixin with the knobs that the plan decides.
function(config)
  local mixin = (import 'mixin.libsonnet') + { _config+:: config };
  { records: mixin.prometheusRules, alerts: mixin.prometheusAlerts }
