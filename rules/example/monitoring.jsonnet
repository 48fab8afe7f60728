// Rules and boards for pods behind a PodMonitor that is scraped every 30 s:
//
//   jsonnet -S -c -m out rules/example/monitoring.jsonnet
local triton = (import '../mixin.libsonnet') + {
  _config+:: {
    scrapeSeconds: 30,
    tritonSelector: 'job="models/triton"',
    serveSelector: 'job="models/tritonobs"',
    replicaLabel: 'pod',
    clusterLabel: '',
    runbookUrl: 'https://wiki.example.com/triton/%s',
    limitWarningRatio: 0.7,
    severities: { TritonModelReloaded: 'none' },
  },
  // Objectives and limits of the fleet. `tritonobs serve` exports the same series from a fleet file.
  prometheusRules+:: {
    groups+: [{
      name: 'triton-limits',
      rules: [
        { record: 'tritonobs_model_info', expr: 'vector(1)', labels: { model: 'detector', kind: 'model' } },
        { record: 'tritonobs_qps_limit', expr: 'vector(40)', labels: { model: 'detector' } },
        { record: 'tritonobs_slo_objective_ratio', expr: 'vector(0.999)', labels: { model: 'detector', slo: 'up' } },
      ],
    }],
  },
};
{
  'records.rules.yml': std.manifestYamlDoc(triton.prometheusRules, quote_keys=false),
  'alerts.rules.yml': std.manifestYamlDoc(triton.prometheusAlerts, quote_keys=false),
} + {
  [name]: std.manifestJson(triton.grafanaDashboards[name])
  for name in std.objectFields(triton.grafanaDashboards)
}
