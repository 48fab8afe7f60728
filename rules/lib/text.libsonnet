// Builds rules from templates: the words of expressions, records, groups and alerts, filled from the config.
local fit = import 'fit.libsonnet';
local shards = import 'shards.libsonnet';
function(config) {
  local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel],
  local labels(names) = std.join(', ', cluster + names),
  // jsonnet writes 0.2 as 0.20000000000000001.
  local shown(value) = if std.isNumber(value) && std.floor(value) != value then '%.10g' % value else std.toString(value),

  local duration = import 'duration.libsonnet',
  // A duration in a rehearsal, which runs `speed` times faster; at least `least` seconds.
  local faster(text, least) =
    if config.speed == 1 then text
    else duration.text(std.max(std.ceil(duration.seconds(text) / config.speed), least)),
  // A window. Windows below two minutes follow the scrape interval and are not divided.
  span(text):: if duration.seconds(text) < 120 then text else faster(text, 60),
  // `for` and `keep_firing_for`, which have no least value.
  wait(text):: faster(text, 0),

  // The words that expressions are filled with, beside the knobs.
  local spans = ['2m', '4m', '5m', '10m', '15m', '30m', '70m', '1h', '3h', '12h', '1d', '7d'],
  local words = { [knob]: shown(config[knob]) for knob in std.objectFields(config) } + {
    ['span' + name]: $.span(name)
    for name in spans
  } + {
    ['seconds' + name]: std.toString(duration.seconds($.span(name)))
    for name in spans
  } + {
    // A matcher of the buckets at `latencyBounds`, and of +Inf. It matches 1 and 1.0, which Prometheus 3 writes.
    named_bounds: if config.latencyBounds == [] then '' else ', le=~"%s"' % std.join('|', [
      std.strReplace(std.strReplace(bound, '.', '[.]'), '+', '[+]') + ending
      for bound in config.latencyBounds + ['+Inf']
      for ending in [''] + if std.stripChars(bound, '0123456789') == '' then ['[.]0'] else []
    ]),
    pagesNew: if config.recordsAtOnce then 'replica:triton_pages_new:count' else '(\n' + $.pages_new % words + ')',
    pagesNewWritten: if config.recordsAtOnce then '(\n' + $.pages_new_written('replica:triton_pages_new:count\nor\nreplica:triton_pages_new:count offset %(sloInterval)s') % words + ')' else self.pagesNew,
    written: if config.recordsAtOnce then ' offset ' + config.writtenAfter else '',
    writtenBefore: ' offset ' + (if config.recordsAtOnce then config.writtenBefore else config.sloInterval),
    triton: config.tritonSelector,
    serve: config.serveSelector,
    traces: config.tracesSelector,
    receiver: labels(['instance']),
    short: config.shortWindow,
    medium: config.mediumWindow,
    period: config.sloPeriod,
    spanPeriod: $.span(config.sloPeriod),
    replica: config.replicaLabel,
    cluster: labels([]),
    // For queries in messages, which are templates: a matcher of the alert's own cluster, and the value for its %q.
    clusterIs: std.join('', [name + '=%q, ' for name in cluster]),
    // " of cluster east", or nothing where series carry no cluster.
    of_cluster: std.join('', ['{{ with $labels.' + name + ' }} of cluster {{ . }}{{ end }}' for name in cluster]),
    cluster_zh: std.join('', ['{{ with $labels.' + name + ' }}（集群 {{ . }}）{{ end }}' for name in cluster]),
    clusterValue: std.join('', ['(print $labels.' + name + ') ' for name in cluster]),
    model: labels(['model']),
    subject: labels(['model', 'version']),
    pipeline: labels(['pipeline']),
    pool: labels(['namespace']),
    device: labels(['instance', 'device']),
    card: labels(['device']),
    cards: labels(['instance', 'vendor']),
    prometheus: labels(['instance']),
    robot: labels(['robot', 'instance']),
    owner: labels(['model', 'version', 'kind', 'pipeline', 'team', 'tier']),
    replica_only: labels([config.replicaLabel]),
    page: labels(['microseconds']),
    shards: config.shardsSelector,
    agents: config.agentsSelector,
    shard: labels([config.shardLabel]),
  },

  // Replaces each %(name)s by its knob or word; a literal percent sign must be doubled. It uses the native split and join.
  // The operator % reads a text character by character, and would take most of the evaluation time.
  fill(text)::
    local word(part) = local found = std.splitLimit(part, ')s', 1); words[found[0]] + found[1];
    local words_in(piece) =
      local parts = std.split(piece, '%(');
      std.join('', [parts[0]] + [word(part) for part in parts[1:]]);
    $.trimmed(std.join('%', [words_in(piece) for piece in std.split(text, '%%')])),

  // Without the trailing newline of a text block.
  trimmed(text):: if std.endsWith(text, '\n') then std.substr(text, 0, std.length(text) - 1) else text,

  record(name, expr, labels={}):: {
    record: $.fill(name),
    expr: $.fill(expr),
    [if labels != {} then 'labels']: labels,
  },

  // A group with the rules of the tier. Mimir allows 20 rules a group.
  group(name, interval, rules):: {
    local own = std.flatMap($.of_tier, rules),
    assert std.length(own) <= 20 : 'group %s has %d rules; rulers allow 20 a group' % [name, std.length(own)],
    name: 'tritonobs.' + name,
    interval: interval,
    rules: own,
  },

  // `expr`, which a shard can evaluate alone. In the global tier it is replaced by what shards recorded under `name`, merged
  // by `tag`; `only` are matchers.
  given(name, tag, expr, only='')::
    if config.tier != 'global' then expr
    else shards.merged(tag.of_shards, shards.prefix + name + (if only == '' then '' else '{' + only + '}')),

  // `given` as `here`, with the record that shards make of it (`record`): of `expr`, or of `recorded`.
  part(name, tag, expr, recorded=expr):: {
    here: $.given(name, tag, expr),
    record: $.record(name, recorded) + tag,
  },

  // An offset for the difference of two records where a ruler writes late: the later record is read with this offset, and
  // its inputs one interval earlier, so that both are of one moment.
  late(window):: if config.recordsAtOnce then '' else ' offset %(' + window + ')s',

  // The offset of the previous evaluation, for rules that compare a record with it; `interval` is that of the group.
  ago(interval)::
    if config.recordsAtOnce then '%(' + interval + 'Interval)s' else '%(' + interval + 'FreshWindow)s',

  // The offset for sums over samples of another group. Groups are evaluated concurrently, so the error budgets' group may
  // have written only a part of the current evaluation. The sums end an evaluation earlier.
  settled:: ' offset %(' + (if config.recordsAtOnce then 'sloInterval' else 'sloFreshWindow') + ')s',

  // Servers whose page, or a page with these target labels, was not read within the longest gap: their counters are history.
  pages_new:: fit(|||
    count by (%(replica_only)s) (
      %(read)s
        unless
      last_over_time(target:triton_page_read:bool[%(gapKnownWindow)s] offset %(sloInterval)s)
    )
  |||, { read: if config.recordsAtOnce then 'target:triton_page_read:bool' else '(' + $.page_read + ')' }),
  // The same for series that are read twice, at the moments at which they are read (see `written` in counters.libsonnet).
  // `new` are pages that are new at this evaluation or were at the previous one: in one of them they are at these moments.
  pages_new_written(new):: fit(|||
    count by (%(replica_only)s) (
      max_over_time(up{%(triton)s}[%(sloInterval)s]%(written)s) == 1
        unless
      max_over_time(up{%(triton)s}[%(sloInterval)s]%(writtenBefore)s) == 1
    )
      and on (%(replica_only)s)
    (
      %(new)s
    )
  |||, { new: new }),
  // Targets that were scraped since the previous evaluation. A scrape without a counter says that the counter begins at 0.
  page_read:: 'max_over_time(up{%(triton)s}[%(sloInterval)s]) == 1',

  // Clusters with fresh samples of servers.
  targets:: $.part('cluster:triton_targets:info', shards.max, |||
    group by (%(cluster)s) (up{%(triton)s} and count_over_time(up{%(triton)s}[%(freshWindow)s]))
  |||),

  // The rules that the tier makes of a rule: none, the rule itself, the records a shard must make for it, or a merge of what
  // shards recorded.
  of_tier(rule)::
    local how = std.get(rule, 'of_shards', '');
    if config.tier == 'all' || (config.tier == 'global' && std.member(['', 'both'], how)) then [rule]
    else if config.tier == 'shard' then [part.record for part in std.get(rule, 'parts', [])] + (if how == '' then [] else [rule])
    else if how == 'kept' then []
    else [rule { expr: $.fill(shards.merged(how, shards.prefix + rule.record)) }],

  // Adds pipeline, team and tier of the model. Every subject has exactly one row of owners.
  owned(expr):: $.joined(expr, 'subject', ''),
  // The same for expressions that always have a version: half as many rows to join.
  owned_version(expr):: $.joined(expr, 'subject', '{version!=""}'),
  // The same for expressions without a version: models over all versions, and the fleet.
  owned_whole(expr):: $.joined(expr, 'model', '{version=""}'),
  joined(expr, on, rows):: fit(|||
    (
      %(expr)s
    )
      * on (%(on)s) group_left (pipeline, team, tier)
    subject:tritonobs_owner:info%(rows)s
  |||, { expr: expr, on: '%(' + on + ')s', rows: rows }),

  // The union of several expressions.
  all(list):: std.join('\nor\n', [$.trimmed(expr) for expr in list]),

  // One alert. `text` has summary and description in both languages, and the board. `wait` is `for`, `keep` is
  // `keep_firing_for`.
  alert(name, severity, expr, text, wait='0s', keep='', labels={}):: {
    alert: name,
    expr: $.fill(expr),
    [if wait != '0s' then 'for']: $.wait(wait),
    [if keep != '' && config.keepFiring then 'keep_firing_for']: $.wait(keep),
    labels: { severity: std.get(config.severities, name, severity) } + labels,
    annotations: {
      summary: $.fill(text.summary),
      description: $.fill(text.description),
      runbook_url: std.strReplace(config.runbookUrl, '%s', name),
      dashboard_url: text.board,
      [if config.chinese then 'summary_zh']: $.fill(text.summary_zh),
      [if config.chinese then 'description_zh']: $.fill(text.description_zh),
    },
  },
}
