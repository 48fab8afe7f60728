// What shards evaluate, and how the global tier merges it.
//
// A rule belongs to the global tier unless it carries one of these tags, `text.record(…) + shards.sum`, or is a part of an
// expression named by `text.part`. The tag says how rows of one record from several shards become one, because a pool of
// servers may be on two shards.
local fit = import 'fit.libsonnet';
{
  local tag(how) = { of_shards:: how },
  sum:: tag('sum'),
  max:: tag('max'),
  // Increases since the previous evaluation: each sample must count once.
  grown:: tag('grown'),
  // Read only on the shard itself.
  kept:: tag('kept'),
  // Evaluated twice: by the shard from its own rows, and by the global tier from the rows of all shards.
  both:: tag('both'),
  // The parts that an expression reads, for shards to record.
  parts(list):: { parts:: list },

  // The prefix that names of shards' records have in the global tier.
  prefix:: 'shard:',

  // `series` of all shards, merged by the tag `how`. Samples of `grown` keep their own timestamps. Each falls into exactly
  // one window, which ends `shardDelay` ago, when all samples have arrived.
  merged(how, series)::
    if how == 'grown' then
      'sum without (%(shardLabel)s) (\n  sum_over_time(' + series + '[%(sloSampleWindow)s] offset %(shardDelay)s)\n)'
    else how + ' without (%(shardLabel)s) (' + series + ')',

  local heartbeat = self.prefix + 'cluster:tritonobs_shard:info',
  local settled = '(' + heartbeat + ' and on (%(shardLabel)s) ' + heartbeat + ' offset %(short)s)',
  local scraped = self.prefix + 'replica:triton_scraped:info',
  // What scrapes a part of the servers (a shard or an agent): those that are `missing`, the servers that are unknown because
  // of it (`blind`), and those that are missing or were a short window ago (`gone`). All are '' where one Prometheus scrapes
  // all servers.
  parts_of(config)::
    if config.tier == 'global' then { missing: missing, blind: blind, gone: missing }
    else if config.tier == 'all' && config.agentsSelector != ''
    then { missing: agents_missing, blind: agents_blind, gone: agents_gone }
    else { missing: '', blind: '', gone: '' },

  // Shards that are missing: their federation target is down, or, where they use remote write, they were seen within the
  // hour. A shard that sends its heartbeat is not missing.
  local missing = fit(|||
    (
      group by (%(shard)s) (up{%(shards)s} == 0)
      or
      (
        group by (%(shard)s) (last_over_time(%(heartbeat)s[%(span1h)s]))
          unless on (%(cluster)s)
        group by (%(cluster)s) (up{%(shards)s})
      )
    )
      unless on (%(shardLabel)s)
    %(heartbeat)s
  |||, { heartbeat: heartbeat }),
  // Servers of shards that are missing or have been back for less than a short window, so that no rate is known yet.
  local blind = fit(|||
    group by (%(replica_only)s) (
      last_over_time(%(scraped)s[%(span1h)s])
        unless on (%(shardLabel)s)
      %(settled)s
    )
      unless on (%(replica_only)s)
    (
      %(scraped)s
        and on (%(shardLabel)s)
      %(settled)s
    )
  |||, { scraped: scraped, settled: settled }),

  // An agent that ends does not end its series, and the store shows them for five minutes. So this reads the agent's own
  // page.
  local agents_missing = 'group by (%(shard)s) (up{%(agents)s} == 0)',
  // The same, or agents that have been back for less than a short window, so that rates of their servers are not known yet.
  local agents_gone = 'group by (%(shard)s) ((up{%(agents)s} == 0) or (up{%(agents)s} offset %(short)s == 0))',
  // Servers that had models within the hour and lack a scrape in one of the last two short windows, in a cluster where an
  // agent is missing.
  local agents_blind = fit(|||
    group by (%(replica_only)s) (replica_model_version:triton_loaded:last_seen_seconds)
      unless on (%(replica_only)s)
    group by (%(replica_only)s) (
      count_over_time(up{%(triton)s}[%(short)s])
        and
      count_over_time(up{%(triton)s}[%(short)s] offset %(short)s)
    )
      and on (%(cluster)s)
    group by (%(cluster)s) (%(gone)s)
  |||, { gone: agents_gone }),
}
