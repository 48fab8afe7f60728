// The index of the records; groups are evaluated side by side, rules of one group in order.
{
  local config = $._config,
  prometheusRules+:: {
    groups+: [
      group(config)
      for group in [
        import 'limits.libsonnet',
        import 'traffic.libsonnet',
        import 'latency.libsonnet',
        import 'stages.libsonnet',
      ]
    ],
  },
}
