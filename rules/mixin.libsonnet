// The mixin: recording rules, alerts and boards. README.md says how to use it.
(import 'config.libsonnet') +
(import 'records/records.libsonnet') +
(import 'alerts/alerts.libsonnet') +
{
  local named = [
    rule.alert
    for group in $.prometheusRules.groups + $.prometheusAlerts.groups
    for rule in group.rules
    if std.objectHas(rule, 'alert')
  ],
  local tiers = ['all', 'shard', 'global'],
  local tier = $._config.tier,
  assert std.member(tiers, tier) : 'tier is %s; allowed are %s' % [std.toString(tier), std.join(', ', tiers)],
  // Shards have no alerts, so no severity can be checked there.
  local unknown = if tier == 'shard' then [] else std.setDiff(std.objectFields($._config.severities), std.set(named)),
  assert unknown == [] : 'severities: %s is not an alert' % std.join(', ', unknown),
  local allowed = ['critical', 'warning', 'info', 'none'],
  local wrong = [one for one in std.objectValues($._config.severities) if !std.member(allowed, one)],
  assert wrong == [] : 'severities: found %s; allowed are %s' % [std.join(', ', wrong), std.join(', ', allowed)],
  // Groups without empty ones: a tier drops rules, and a shard has records only.
  local filled(groups) = [group for group in groups if group.rules != []],
  prometheusRules+:: { groups: filled(super.groups + (if tier == 'shard' then $.groupsOfAlerts else [])) },
  groupsOfAlerts:: super.prometheusAlerts.groups,
  prometheusAlerts+:: { groups: if tier == 'shard' then [] else filled(super.groups) },
  // The boards are generated for the default knobs: a scrape interval of 15 s, and `instance` as the label of a replica.
  grafanaDashboards+:: {
    'tritonobs-accelerators.json': import '../dashboards/generated/tritonobs-accelerators.json',
    'tritonobs-delivery.json': import '../dashboards/generated/tritonobs-delivery.json',
    'tritonobs-fleet.json': import '../dashboards/generated/tritonobs-fleet.json',
    'tritonobs-hosts.json': import '../dashboards/generated/tritonobs-hosts.json',
    'tritonobs-language.json': import '../dashboards/generated/tritonobs-language.json',
    'tritonobs-model.json': import '../dashboards/generated/tritonobs-model.json',
    'tritonobs-pipeline.json': import '../dashboards/generated/tritonobs-pipeline.json',
    'tritonobs-slo.json': import '../dashboards/generated/tritonobs-slo.json',
  },
}
