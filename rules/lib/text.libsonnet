// The words every expression is made of, filled from the config.
local put = import 'put.libsonnet';
function(config) {
  local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel],
  local labels(names) = std.join(', ', cluster + names),
  // jsonnet itself would write 0.2 as 0.20000000000000001.
  local shown(value) = if std.isNumber(value) && std.floor(value) != value then '%.10g' % value else std.toString(value),

  // What expressions are formatted with: %(model_version)s and the like. Elements of an array are evaluated once,
  // fields of an object at every look.
  local said = { [knob]: shown(config[knob]) for knob in std.objectFields(config) } + {
    triton: config.tritonSelector,
    serve: config.serveSelector,
    short: config.shortWindow,
    medium: config.mediumWindow,
    period: config.sloPeriod,
    replica: config.replicaLabel,
    cluster: labels([]),
    model: labels(['model']),
    subject: labels(['model', 'version']),
    pipeline: labels(['pipeline']),
    device: labels(['instance', 'device']),
    owner: labels(['model', 'version', 'kind', 'pipeline', 'team', 'tier']),
    replica_only: labels([config.replicaLabel]),
  },
  local names = std.objectFields(said),
  local values = [said[name] for name in names],
  local words = { [names[place]]: values[place] for place in std.range(0, std.length(names) - 1) },

  // Knobs and words in place; a percent sign of the text itself must be doubled. Does what `text % words` does for
  // `%(name)s` and `%(name)d`, a hundred times faster: the formatting of the C++ jsonnet is written in jsonnet.
  fill(text)::
    local pieces = std.split(text, '%(');
    local filled(piece) =
      local halves = std.splitLimit(piece, ')', 1);
      words[halves[0]] + std.substr(halves[1], 1, std.length(halves[1]) - 1);
    $.trimmed(std.strReplace(std.join('', [pieces[0]] + [filled(piece) for piece in pieces[1:]]), '%%', '%')),

  // Without the line end that a text block brings.
  trimmed(text):: if std.endsWith(text, '\n') then std.substr(text, 0, std.length(text) - 1) else text,

  record(name, expr, labels={}):: {
    record: $.fill(name),
    expr: $.fill(expr),
    [if labels != {} then 'labels']: labels,
  },

  group(name, interval, rules):: {
    assert std.length(rules) <= 20 : 'group %s has %d rules; rulers allow 20 a group' % [name, std.length(rules)],
    name: 'tritonobs.' + name,
    interval: interval,
    rules: rules,
  },

  // Adds pipeline, team and tier of whatever model the expression is about; every subject has exactly one owner row.
  owned(expr):: $.joined(expr, 'subject', ''),
  // The same for expressions without a version: models over all of theirs, and the fleet.
  owned_whole(expr):: $.joined(expr, 'model', '{version=""}'),
  joined(expr, on, rows):: put(|||
    (
      <expr>
    )
      * on (%(<on>)s) group_left (pipeline, team, tier)
    subject:tritonobs_owner:info<rows>
  |||, { expr: std.strReplace($.trimmed(expr), '\n', '\n  '), on: on, rows: rows }),

  // The same for records of several expressions.
  all(list):: std.join('\nor\n', [$.trimmed(expr) for expr in list]),

  // One alert. `text` says summary, description and board; `wait` and `keep` are durations.
  alert(name, severity, expr, text, wait='0s', keep='', labels={}):: {
    alert: name,
    expr: $.fill(expr),
    [if wait != '0s' then 'for']: wait,
    [if keep != '' && config.keepFiring then 'keep_firing_for']: keep,
    labels: { severity: severity } + labels,
    annotations: {
      summary: $.fill(text.summary),
      description: $.fill(text.description),
      runbook_url: std.strReplace(config.runbookUrl, '%s', name),
      dashboard_url: text.board,
    },
  },
}
