// The extensions that bring rules, a line each. To take one out, delete its folder and its line: nothing else names it.
local extensions = {
  kubernetes: { rules: import 'kubernetes/rules.libsonnet', thresholds: import 'kubernetes/thresholds.json' },
  traces: { rules: import 'traces/rules.libsonnet', thresholds: import 'traces/thresholds.json' },
};
// Where the lists of records/records.libsonnet and alerts/alerts.libsonnet read what extensions add: groups among the records,
// rules in a group of alerts.
local places = ['records.stages', 'records.slo', 'alerts.kubernetes', 'alerts.tritonobs'];
{
  // What all extensions add at a place, each in the order of its own list.
  added(config, place):: std.flattenArrays([
    local own = extensions[name].rules(config);
    local unknown = std.setDiff(std.objectFields(own), std.set(places));
    assert unknown == [] : 'extensions/%s: %s is not a place; allowed are %s' % [name, std.join(', ', unknown), std.join(', ', places)];
    std.get(own, place, [])
    for name in std.objectFields(extensions)
  ]),
  // The rows of their thresholds, as those of config/thresholds.json.
  thresholds:: std.flattenArrays([extensions[name].thresholds for name in std.objectFields(extensions)]),
}
