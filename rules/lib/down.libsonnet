// Servers that are down, and those of which no one sends samples any more.
local fit = import 'fit.libsonnet';
local shards = import 'shards.libsonnet';
{
  // Within the hour, and no samples have come since.
  silent:: |||
    (
      last_over_time(replica:triton_silent:info[%(span1h)s])
        unless on (%(replica_only)s)
      count_over_time(up{%(triton)s}[%(freshWindow)s])
    )
  |||,

  // A pod, which has a namespace, is scraped from when it runs, and answers when its models are loaded; any server may be
  // found while it starts. A pod that ends may be dark until it is gone. Where nothing comes of a whole cluster, no server of it is down: TritonServersLost.
  down:: fit(|||
    up{%(triton)s} == 0
      unless
    (
      (max_over_time(up{%(triton)s,namespace!=""}[%(span10m)s]) == 0)
        unless
      up{%(triton)s} offset %(span10m)s
    )
      unless
    (
      (max_over_time(up{%(triton)s}[%(span4m)s]) == 0)
        unless
      up{%(triton)s} offset %(span4m)s
    )
      unless
    (max_over_time(up{%(triton)s,namespace!=""}[%(span2m)s]) == 1)
    or on (%(replica_only)s)
    (
      %(silent)s
        and on (%(cluster)s)
      count_over_time(up{%(triton)s}[%(freshWindow)s])
    )
  |||, { silent: $.silent }),

  // What an agent scraped that is gone is told of the agent.
  down_of(config)::
    local gone = if config.tier == 'all' then shards.parts_of(config).gone else '';
    $.down + if gone == '' then '' else fit(|||

      unless on (%(replica_only)s)
      (
        %(silent)s
          and on (%(cluster)s)
        group by (%(cluster)s) (%(gone)s)
      )
    |||, { silent: $.silent, gone: gone }),
}
