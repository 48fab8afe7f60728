// The index of the alerts, without those that are in the groups of their records (records/records.libsonnet).
{
  local config = $._config,
  local limits = (import 'limits.libsonnet')(config).others,
  local traffic = (import 'traffic.libsonnet')(config).traffic,
  local servers = (import 'servers.libsonnet')(config),
  local models = (import 'models.libsonnet')(config),
  local slo = (import 'slo.libsonnet')(config),
  prometheusAlerts+:: {
    groups+: [
      limits.soon,
      limits.later,
      (import 'language.libsonnet')(config).language,
      traffic.soon,
      traffic.later,
      slo.others,
      models.soon,
      models.later,
      servers.servers,
      (import 'kubernetes.libsonnet')(config),
      (import 'tritonobs.libsonnet')(config),
      servers.scrapers,
    ],
  },
}
