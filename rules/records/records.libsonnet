// The index of the records, by group. Prometheus evaluates groups at offsets of their own, so a rule that reads a record of
// another group waits for up to one interval. Rules of one group are evaluated one after the other. So an alert shares as
// few groups with its records as the limit of 20 rules a group allows, and paging alerts follow their records.
{
  local config = $._config,
  local text = (import '../lib/text.libsonnet')(config),
  local shards = import '../lib/shards.libsonnet',
  local objectives = (import 'objectives.libsonnet')(config),
  local traffic = (import 'traffic.libsonnet')(config),
  local limits = (import 'limits.libsonnet')(config),
  local servers = (import 'servers.libsonnet')(config),
  local models = (import 'models.libsonnet')(config),
  local language = (import 'language.libsonnet')(config),
  local stages = (import 'stages.libsonnet')(config),
  local members = (import '../lib/members.libsonnet')(config),
  local slo_requests = (import 'slo_requests.libsonnet')(config),
  local windows = (import 'slo_windows.libsonnet')(config),
  local burns = (import 'slo_burns.libsonnet')(config),
  local limit_alerts = (import '../alerts/limits.libsonnet')(config),
  local traffic_alerts = (import '../alerts/traffic.libsonnet')(config),
  local alerts = (import '../alerts/slo.libsonnet')(config),
  local added = (import '../extensions/extensions.libsonnet').added,
  prometheusRules+:: {
    groups+: [
      text.group('last_hour', config.slowInterval, objectives.held.last_hour + objectives.usual + limits.breath),
      text.group('objectives', config.evaluationInterval, objectives.held.limits),
      text.group('subjects', config.modelInterval, servers.clusters + objectives.held.owners + limits.of_model),
      text.group('promises', config.stageInterval, objectives.held.promises),
      text.group(
        'traffic',
        config.evaluationInterval,
        traffic.requests + traffic.subjects +
        limit_alerts.overflow
      ),
      text.group('limits', config.evaluationInterval, limits.overflows),
      text.group('limits.near', config.stageInterval, limit_alerts.near),
      text.group('stopped', config.modelInterval, traffic_alerts.stopped),
      text.group('forecast', config.slowInterval, limit_alerts.forecast),
      text.group('presence', config.evaluationInterval, servers.presence),
      text.group('latency', config.modelInterval, models.latency + language.goodput),
      text.group(
        'replicas',
        config.slowInterval,
        servers.replicas + (import '../alerts/servers.libsonnet')(config).replicas
      ),
      text.group('instances', config.modelInterval, models.batching),
      // Buckets are the largest read. They have groups of their own, so that no other rule waits for them.
      text.group('stages.whole', config.stageInterval, stages.stages.whole),
      text.group('stages.parts', config.stageInterval, stages.stages.parts),
      text.group(
        'stages',
        config.stageInterval,
        stages.stages.shown + stages.work +
        (import '../alerts/language.libsonnet')(config).tokens
      ),
      text.group('language', config.gaugeInterval, language.gauges),
      text.group('language.shown', config.stageInterval, language.shown),
    ] + added(config, 'records.stages') + [
      text.group('accelerators', config.stageInterval, [
        record + shards.max
        for record in (import 'accelerators.libsonnet')(config)
      ]),
      text.group(
        'slo',
        config.sloInterval,
        slo_requests.requests + slo_requests.timed +
        slo_requests.counted_for_slos + windows.ratios.recent + burns.recent + alerts.recent
      ),
      text.group('slo.samples', config.sloInterval, slo_requests.sampled + burns.kept + members.records),
    ] + added(config, 'records.slo') + [
      text.group('slo.unmeasured', config.slowInterval, windows.shown.unmeasured),
      text.group('slo.shown', config.stageInterval, windows.shown.ratio + windows.shown.invalid + windows.budget.shown),
      text.group('slo.slow', config.slowInterval, windows.ratios.slow + burns.thresholds),
      text.group('slo.burns', config.burnInterval, burns.slow + alerts.slow),
      text.group('slo.begins', config.burnInterval, burns.begins),
      text.group('slo.sampled', config.longInterval, windows.ratios.sampled),
      text.group('slo.period', config.periodInterval, windows.ratios.period + windows.budget.period),
      // Alerts that recur, with their records (lib/again.libsonnet).
      text.group('again', config.modelInterval, models.workers + traffic_alerts.traffic.again),
      text.group('again.minutes', config.stageInterval, (import '../alerts/models.libsonnet')(config).again),
    ],
  },
}
