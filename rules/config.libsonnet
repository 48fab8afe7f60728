// Every knob, with its reason. `tritonobs build` sets those the fleet file decides; the values here are the ones it
// computes for a scrape every 15 s and an SLO period of 30 days (a test compares them).
{
  _config+:: {
    // Selects Triton's scrape targets, without braces. All series of Triton and of the models are read through it.
    tritonSelector: 'job="triton"',
    // Selects `tritonobs serve`.
    serveSelector: 'job="tritonobs"',
    // A label that keeps fleets apart in one Prometheus ('cluster'), or '' when there is but one. Limits and
    // objectives must carry it too.
    clusterLabel: '',

    // Reads Triton's counters: 4 scrapes, at least 10 s. All longer windows are made of it.
    shortWindow: '1m',
    // Reads the stages' histograms: 1 m, or the short window where that is longer.
    mediumWindow: '1m',
    // How often traffic and limits are evaluated: the time an overflow may stay unseen.
    evaluationInterval: '15s',
    // Stages are the many series; nobody needs their percentiles every second.
    stageInterval: '15s',

    // Share of a limit at which we warn, while there is still time.
    qpsWarningRatio: 0.8,
    // Keeps an alert up through the dips of bursty traffic: one message, not ten.
    qpsKeepFiring: '1m',

    // Where alerts point to. `%s` is the alert's name.
    runbookUrl: 'https://github.com/tritonobs/tritonobs/blob/main/docs/runbooks/%s.md',
    // Grafana's address, or '' without one: links then open Prometheus.
    grafanaUrl: '',
    prometheusUrl: 'http://127.0.0.1:9090',
  },
}
