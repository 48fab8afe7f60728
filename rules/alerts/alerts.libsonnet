// The index of the alerts, but for overflow.libsonnet, which stands among the records.
{
  local config = $._config,
  prometheusAlerts+:: {
    groups+: [
      group(config)
      for group in [
        import 'limits.libsonnet',
        import 'tokens.libsonnet',
        import 'traffic.libsonnet',
        import 'slo.libsonnet',
        import 'models.libsonnet',
        import 'servers.libsonnet',
        import 'tritonobs.libsonnet',
      ]
    ],
  },
}
