// What the shards record for the global Prometheus, in the order of their rules: `record`, and whether its samples `count`.
function(config)
  local mixin = (import 'mixin.libsonnet') + { _config+:: config { tier: 'shard' } };
  { given: [
    { record: rule.record, counts: rule.of_shards == 'grown' }
    for group in mixin.prometheusRules.groups
    for rule in group.rules
    if std.member(['sum', 'max', 'grown'], rule.of_shards)
  ] }
