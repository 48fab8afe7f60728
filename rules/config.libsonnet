// The knobs of the mixin, each with its reason. `tritonobs build` sets those that follow from the fleet file.
(import 'config/windows.libsonnet') +
{
  _config+:: {
    [one.knob]: one.value
    for one in (import 'config/thresholds.json') + (import 'extensions/extensions.libsonnet').thresholds
  },
} +
{
  _config+:: {
    // Selects Triton's scrape targets; PromQL matchers without braces. Every series of Triton and of the models is read
    // through it.
    tritonSelector: 'job="triton"',
    // Selects `tritonobs serve`.
    serveSelector: 'job="tritonobs"',
    // Selects the receiver of Triton's traces.
    tracesSelector: 'job="tritonobs-traces"',
    // The label that names a replica. `tritonobs build` puts 'replica' on every target.
    replicaLabel: 'instance',
    // The label that separates clusters in one Prometheus. Every record, join and absence is evaluated per cluster, so all
    // series must carry it, limits and objectives too; `tritonobs build` ensures that. Series without it form one cluster
    // with an empty name. '' omits the label from the rules.
    clusterLabel: 'cluster',
    // A regular expression: the names of the Deployments, StatefulSets and autoscalers that are pools of Triton servers.
    poolNames: '.*triton.*',
    // Overrides of severities by alert name: { TritonServerDown: 'warning' }. Allowed are critical, warning, info and none.
    // Our routes send `none` to no receiver.
    severities: {},
    // The bucket bounds (label `le`) that latency thresholds may name: ['0.1', '1']. Error budgets then read no other
    // buckets, and buckets are most of all series. [] reads every bound.
    latencyBounds: [],
    // false omits keep_firing_for: rulers that do not know it (vmalert before 1.87) refuse the whole file.
    keepFiring: true,
    // Whether a rule can read what an earlier rule of its group has just recorded. vmalert, and Thanos Ruler with remote
    // write, send records to a store while the next rule is evaluated. With false, rules that compare with the previous
    // evaluation read the series instead of the record.
    recordsAtOnce: true,

    // Which rules to write: all of them, or those of one tier where several Prometheus share the servers (docs/scale.md). A
    // shard has the records of its own servers, without objectives and alerts. The global tier reads the records of all
    // shards, under the name shard:NAME, and evaluates the rest.
    tier: 'all',
    // The label that distinguishes shards; an external label of each shard.
    shardLabel: 'shard',
    // Selects the scrape targets by which the global Prometheus federates the shards (/federate). It matches nothing where
    // shards use remote write.
    shardsSelector: 'job="tritonobs-shards"',
    // Selects the targets of agents (vmagent), where several share the servers and write to one store that evaluates
    // all rules. '' means that there are no agents.
    agentsSelector: '',

    // The address of the runbooks; `%s` is the name of the alert. `tritonobs serve` has the pages.
    runbookUrl: 'http://127.0.0.1:9900/runbooks/%s',
    // Whether alerts carry their texts in Chinese, too: annotations summary_zh and description_zh.
    chinese: false,
    // The address of Grafana. With '' links open the record in Prometheus.
    grafanaUrl: '',
    prometheusUrl: 'http://127.0.0.1:9090',
  },
}
