// Every knob, with its reason. `tritonobs build` sets those the fleet file decides.
(import 'config/windows.libsonnet') +
(import 'config/thresholds.libsonnet') +
{
  _config+:: {
    // Selects Triton's scrape targets, without braces. All series of Triton and of the models are read through it.
    tritonSelector: 'job="triton"',
    // Selects `tritonobs serve`.
    serveSelector: 'job="tritonobs"',
    // Selects the receiver of Triton's traces.
    tracesSelector: 'job="tritonobs-traces"',
    // The label that names a replica. 'replica' is what `tritonobs build` puts on every target.
    replicaLabel: 'instance',
    // The label that keeps clusters apart in one Prometheus: every record, join and absence is per cluster. All
    // series must carry it alike, limits and objectives too; `tritonobs build` sees to that. Series without it are
    // one cluster with an empty name. '' leaves the label out of the rules.
    clusterLabel: 'cluster',
    // Which Deployments, StatefulSets and autoscalers are pools of Triton servers, by their name: a regular expression.
    poolNames: '.*triton.*',
    // Other severities than the rules', by the alert's name: { TritonServerDown: 'warning' }. Allowed are critical,
    // warning, info, and none, which our routes tell nobody.
    severities: {},
    // The bounds of stages' buckets that latency thresholds may name, as their label `le`: ['0.1', '1']. Error budgets then
    // read no other buckets, which are most of all series. [] for any.
    latencyBounds: [],
    // Rulers that know no keep_firing_for (vmalert before 1.87) refuse the file: false leaves it out.
    keepFiring: true,
    // Whether a rule reads what the rules above it have just recorded. vmalert, and Thanos Ruler where it writes remotely,
    // send records to a store meanwhile: false, and what is compared with the evaluation before is read from series.
    recordsAtOnce: true,

    // Which rules: all of them, or those of one tier where several Prometheus share the servers (docs/scale.md). A shard
    // has the records of its own servers, no objectives and no alerts; the global tier reads the records of all shards,
    // each called shard:NAME there, and evaluates the rest.
    tier: 'all',
    // The label that tells shards apart, an external label of each.
    shardLabel: 'shard',
    // Selects the shards where the global Prometheus asks them (/federate). Where they write to it, nothing.
    shardsSelector: 'job="tritonobs-shards"',
    // Selects the pages of agents (vmagent) where several share the servers and write to one store that evaluates all
    // rules. '' where there are none.
    agentsSelector: '',

    // Where alerts point to. `%s` is the alert's name. `tritonobs serve` has the pages.
    runbookUrl: 'http://127.0.0.1:9900/runbooks/%s',
    // Whether alerts say in Chinese, too, what they say in English: annotations summary_zh and description_zh.
    chinese: false,
    // Grafana's address, or '' without one: links then open the record in Prometheus.
    grafanaUrl: '',
    prometheusUrl: 'http://127.0.0.1:9090',
  },
}
