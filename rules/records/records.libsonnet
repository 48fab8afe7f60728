// The index of the records; groups are evaluated side by side, rules of one group in order.
{
  local config = $._config,
  local ratios(part) = function(config) (import 'slo_ratios.libsonnet')(config)[part],
  prometheusRules+:: {
    groups+: [
      group(config)
      for group in [
        import 'objectives.libsonnet',
        import 'requests.libsonnet',
        import 'subjects.libsonnet',
        import 'latency.libsonnet',
        import 'batching.libsonnet',
        import 'workers.libsonnet',
        import 'stages.libsonnet',
        import 'work.libsonnet',
        import 'accelerators.libsonnet',
        import 'slo_events.libsonnet',
        ratios('recent'),
        ratios('sampled'),
        ratios('days'),
        import 'slo_budget.libsonnet',
      ]
    ],
  },
}
