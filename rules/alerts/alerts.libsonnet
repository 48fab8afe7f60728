// The index of the alerts, but for overflow.libsonnet and replicas.libsonnet, which stand among the records.
{
  local config = $._config,
  local slo = (import 'slo.libsonnet')(config),
  prometheusAlerts+:: {
    groups+: [
      (import 'limits.libsonnet')(config),
      (import 'tokens.libsonnet')(config),
      (import 'traffic.libsonnet')(config),
      slo.quick,
      slo.slow,
      (import 'models.libsonnet')(config),
      (import 'servers.libsonnet')(config),
      (import 'tritonobs.libsonnet')(config),
    ],
  },
}
