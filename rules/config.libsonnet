// Every knob, with its reason. `tritonobs build` sets those the fleet file decides; the values here are the ones it
// computes for a scrape every 15 s and an SLO period of 30 days (a test compares them).
(import 'config/windows.libsonnet') +
(import 'config/thresholds.libsonnet') +
{
  _config+:: {
    // Selects Triton's scrape targets, without braces. All series of Triton and of the models are read through it.
    tritonSelector: 'job="triton"',
    // Selects `tritonobs serve`.
    serveSelector: 'job="tritonobs"',
    // The label that names a replica. 'replica' is what `tritonobs build` puts on every target.
    replicaLabel: 'instance',
    // A label that keeps fleets apart in one Prometheus ('cluster'), or '' when there is but one. Limits and
    // objectives must carry it too.
    clusterLabel: '',
    // Rulers that know no keep_firing_for (vmalert before 1.87) refuse the file: false leaves it out.
    keepFiring: true,

    // Where alerts point to. `%s` is the alert's name.
    runbookUrl: 'https://github.com/tritonobs/tritonobs/blob/main/docs/runbooks/%s.md',
    // Grafana's address, or '' without one: links then open the record in Prometheus.
    grafanaUrl: '',
    prometheusUrl: 'http://127.0.0.1:9090',
  },
}
