// The index of the alerts, without those that are in the groups of their records (records/records.libsonnet).
{
  local config = $._config,
  local text = (import '../lib/text.libsonnet')(config),
  local limits = (import 'limits.libsonnet')(config).others,
  local traffic = (import 'traffic.libsonnet')(config).traffic,
  local servers = (import 'servers.libsonnet')(config),
  local models = (import 'models.libsonnet')(config),
  local slo = (import 'slo.libsonnet')(config),
  local tritonobs = (import 'tritonobs.libsonnet')(config),
  local added = (import '../extensions/extensions.libsonnet').added,
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
      text.group('alerts.kubernetes', config.modelInterval, added(config, 'alerts.kubernetes') + tritonobs.delivers),
      text.group(
        'alerts.tritonobs',
        config.evaluationInterval,
        tritonobs.serve + added(config, 'alerts.tritonobs') + tritonobs.rules
      ),
      servers.scrapers,
    ],
  },
}
