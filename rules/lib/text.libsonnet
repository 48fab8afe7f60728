// The words every expression is made of, filled from the config.
function(config) {
  local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel],
  local labels(names) = std.join(', ', cluster + names),

  // What expressions are formatted with: %(by_model_version)s and the like.
  words:: {
    triton: config.tritonSelector,
    serve: config.serveSelector,
    short: config.shortWindow,
    medium: config.mediumWindow,
    cluster: labels([]),
    model: labels(['model']),
    model_version: labels(['model', 'version']),
    model_version_stage: labels(['model', 'version', 'stage']),
    warning_ratio: config.qpsWarningRatio,
  },

  local fill(text) = std.stripChars(text % self.words, '\n'),

  record(name, expr, labels={}):: {
    record: fill(name),
    expr: fill(expr),
    [if labels != {} then 'labels']: labels,
  },

  group(name, interval, rules):: {
    assert std.length(rules) <= 20 : 'group %s: rulers allow 20 rules a group' % name,
    name: 'tritonobs.' + name,
    interval: interval,
    rules: rules,
  },

  // An alert: `text` has summary, description and board; the links are made here, for every alert alike.
  alert(name, severity, expr, text, wait='0s', keep='', labels={}):: {
    alert: name,
    expr: fill(expr),
    'for': wait,
    [if keep != '' then 'keep_firing_for']: keep,
    labels: { severity: severity } + labels,
    annotations: {
      summary: text.summary,
      description: text.description,
      runbook_url: config.runbookUrl % name,
      dashboard_url: text.board,
    },
  },
}
