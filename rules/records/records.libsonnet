// The index of the records. Groups are evaluated side by side, each up to one interval behind the one it reads; rules
// of one group follow each other at once. So what an alert waits for stands in as few groups as 20 rules each allow.
{
  local config = $._config,
  local text = (import '../lib/text.libsonnet')(config),
  local ratios = (import 'slo_ratios.libsonnet')(config),
  local budget = (import 'slo_budget.libsonnet')(config),
  prometheusRules+:: {
    groups+: [
      text.group('objectives', config.evaluationInterval, (import 'objectives.libsonnet')(config)),
      text.group(
        'traffic',
        config.evaluationInterval,
        (import 'requests.libsonnet')(config) + (import 'subjects.libsonnet')(config) +
        (import '../alerts/overflow.libsonnet')(config)
      ),
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
      text.group(
        'stages',
        config.stageInterval,
        (import 'stages.libsonnet')(config) + (import 'work.libsonnet')(config)
      ),
      text.group('accelerators', config.stageInterval, (import 'accelerators.libsonnet')(config)),
      text.group(
        'slo',
        config.sloInterval,
        (import 'slo_events.libsonnet')(config) + ratios.recent + budget.recent
      ),
      text.group('slo.sampled', config.longInterval, ratios.sampled),
      text.group('slo.slow', config.slowInterval, ratios.slow + budget.slow),
    ],
  },
}
