// The index of the records. Groups are evaluated side by side, each up to one interval behind the one it reads; rules
// of one group follow each other at once. So what an alert waits for stands in as few groups as 20 rules each allow,
// and the alerts that people are woken by stand behind their records.
{
  local config = $._config,
  local text = (import '../lib/text.libsonnet')(config),
  local shards = import '../lib/shards.libsonnet',
  local objectives = (import 'objectives.libsonnet')(config),
  local language = (import 'language.libsonnet')(config),
  local stages = (import 'stages.libsonnet')(config),
  local members = (import '../lib/members.libsonnet')(config),
  local traces = (import 'traces.libsonnet')(config),
  local traced_share = (import 'traced_share.libsonnet')(config),
  local shown = (import 'slo_shown.libsonnet')(config),
  local breath = (import 'breath.libsonnet')(config),
  local ratios = (import 'slo_ratios.libsonnet')(config),
  local budget = (import 'slo_budget.libsonnet')(config),
  local burns = (import 'slo_burns.libsonnet')(config),
  local alerts = (import '../alerts/slo.libsonnet')(config),
  prometheusRules+:: {
    groups+: [
      text.group('last_hour', config.slowInterval, objectives.last_hour + (import 'last_hour.libsonnet')(config) + breath),
      text.group('objectives', config.evaluationInterval, objectives.limits),
      text.group('promises', config.stageInterval, objectives.promises),
      text.group(
        'traffic',
        config.evaluationInterval,
        (import 'requests.libsonnet')(config) + (import 'subjects.libsonnet')(config) +
        (import '../alerts/overflow.libsonnet')(config)
      ),
      text.group('limits', config.evaluationInterval, (import 'overflows.libsonnet')(config)),
      text.group('limits.near', config.stageInterval, (import '../alerts/near.libsonnet')(config)),
      text.group('stopped', config.evaluationInterval, (import '../alerts/stopped.libsonnet')(config)),
      text.group('forecast', config.slowInterval, (import '../alerts/forecast.libsonnet')(config)),
      text.group('presence', config.evaluationInterval, (import 'presence.libsonnet')(config)),
      text.group('latency', config.evaluationInterval, (import 'latency.libsonnet')(config)),
      text.group(
        'replicas',
        config.slowInterval,
        (import 'replicas.libsonnet')(config) + (import '../alerts/replicas.libsonnet')(config)
      ),
      text.group(
        'instances',
        config.evaluationInterval,
        (import 'batching.libsonnet')(config) + (import 'workers.libsonnet')(config)
      ),
      // Nothing else waits until these are read.
      text.group('stages.whole', config.stageInterval, stages.whole),
      text.group('stages.parts', config.stageInterval, stages.parts),
      text.group(
        'stages',
        config.stageInterval,
        stages.shown + (import 'work.libsonnet')(config) +
        (import '../alerts/tokens.libsonnet')(config)
      ),
      text.group('language', config.gaugeInterval, language.gauges),
      text.group('language.shown', config.stageInterval, language.shown),
      text.group('traces', config.stageInterval, traces.shown),
      text.group('accelerators', config.stageInterval, [
        record + shards.max
        for record in (import 'accelerators.libsonnet')(config)
      ]),
      text.group(
        'slo',
        config.sloInterval,
        (import 'events.libsonnet')(config) + (import 'timed.libsonnet')(config) +
        (import 'slo_events.libsonnet')(config) + ratios.recent + burns.recent + alerts.recent
      ),
      text.group('slo.samples', config.sloInterval, traces.samples + burns.kept + members.records),
      text.group('traces.counted', config.sloInterval, traced_share.counted),
      text.group('traces.compared', config.slowInterval, traced_share.compared),
      text.group('slo.unmeasured', config.slowInterval, shown.unmeasured),
      text.group('slo.shown', config.stageInterval, shown.ratio + shown.invalid + budget.shown),
      text.group('slo.slow', config.slowInterval, ratios.slow + burns.thresholds),
      text.group('slo.burns', config.burnInterval, burns.slow + alerts.slow),
      text.group('slo.begins', config.burnInterval, burns.begins),
      text.group('slo.sampled', config.longInterval, ratios.sampled),
      text.group('slo.period', config.periodInterval, ratios.period + budget.period),
      // Alerts that may come and go.
      text.group('again', config.evaluationInterval, (import '../alerts/traffic.libsonnet')(config).again),
      text.group('again.minutes', config.stageInterval, (import '../alerts/models.libsonnet')(config).again),
    ],
  },
}
