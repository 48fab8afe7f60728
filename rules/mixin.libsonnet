// The sum: what jsonnet people import. Python's `tritonobs build` only fills `_config`.
(import 'config.libsonnet') +
(import 'records/records.libsonnet') +
(import 'alerts/alerts.libsonnet') +
{ grafanaDashboards+:: {} }
