// The index of the alerts.
{
  local config = $._config,
  prometheusAlerts+:: {
    groups+: [
      group(config)
      for group in [
        import 'watchdog.libsonnet',
        import 'limits.libsonnet',
      ]
    ],
  },
}
