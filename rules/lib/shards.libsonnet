// What a shard evaluates for the global tier. Every rule is the global tier's but for those that carry one of these tags,
// `text.record(…) + shards.sum`, and for the parts of an expression that `text.part` names. A tag says how the rows that
// several shards have of one record become one: a pool of servers may be on two.
local fit = import 'fit.libsonnet';
{
  local tag(how) = { of_shards:: how },
  sum:: tag('sum'),
  max:: tag('max'),
  // What grew since the evaluation before: each sample counts once.
  grown:: tag('grown'),
  // Read on the shard alone.
  kept:: tag('kept'),
  // Evaluated twice: on the shard of its own rows, and of the rows of all.
  both:: tag('both'),
  // Parts that the rule's expression reads.
  parts(list):: { parts:: list },

  // What the global tier calls a record of a shard.
  prefix:: 'shard:',

  // Samples of `grown` keep their own time and count once: each falls into one window, which ends when all are there.
  merged(how, series)::
    if how == 'grown' then
      'sum without (%(shardLabel)s) (\n  sum_over_time(' + series + '[%(sloSampleWindow)s] offset %(shardDelay)s)\n)'
    else how + ' without (%(shardLabel)s) (' + series + ')',

  local heartbeat = self.prefix + 'cluster:tritonobs_shard:info',
  local settled = '(' + heartbeat + ' and on (%(shardLabel)s) ' + heartbeat + ' offset %(short)s)',
  local scraped = self.prefix + 'replica:triton_scraped:info',
  // Who scrapes a part of the servers and is missing, and what servers cannot be asked for it; '' where one Prometheus
  // scrapes all.
  parts_of(config)::
    if config.tier == 'global' then { missing: missing, blind: blind, gone: missing }
    else if config.tier == 'all' && config.agentsSelector != ''
    then { missing: agents_missing, blind: agents_blind, gone: agents_gone }
    else { missing: '', blind: '', gone: '' },

  // Shards that should be there and are not. Without federation it is those that were there within the hour.
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
  // Servers of shards that are not there, or have been for less than a short window and know no rates yet.
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

  // An agent ends without ending its series, which the store goes on showing for some minutes; so this reads its page.
  local agents_missing = 'group by (%(shard)s) (up{%(agents)s} == 0)',
  // Or that has been back for less than a short window, so that rates of its servers are not known yet.
  local agents_gone = 'group by (%(shard)s) ((up{%(agents)s} == 0) or (up{%(agents)s} offset %(short)s == 0))',
  // Servers that had models within the hour, and were not scraped now and a short window ago.
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
