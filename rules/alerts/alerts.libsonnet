// The index of the alerts, but for those that stand among the records they read.
{
  local config = $._config,
  local limits = (import 'limits.libsonnet')(config),
  local traffic = (import 'traffic.libsonnet')(config),
  local models = (import 'models.libsonnet')(config),
  local slo = (import 'slo.libsonnet')(config),
  prometheusAlerts+:: {
    groups+: [
      limits.soon,
      limits.later,
      (import 'language.libsonnet')(config),
      traffic.soon,
      traffic.later,
      slo.others,
      models.soon,
      models.later,
      (import 'servers.libsonnet')(config),
      (import 'kubernetes.libsonnet')(config),
      (import 'tritonobs.libsonnet')(config),
      (import 'shards.libsonnet')(config),
    ],
  },
}
