// Servers that do not answer, and faults that many rows have in common.
local fit = import 'fit.libsonnet';
local shards = import 'shards.libsonnet';

// Expressions for servers that are down, and for servers that send no samples any more.
local down =
  {
    // Servers that stopped sending samples within the hour, and have sent none since.
    silent:: |||
      (
        last_over_time(replica:triton_silent:info[%(span1h)s])
          unless on (%(replica_only)s)
        count_over_time(up{%(triton)s}[%(freshWindow)s])
      )
    |||,

    // Servers that do not answer, with three exceptions. A pod has the label `namespace` and is scraped from the moment it
    // runs, but answers only when its models are loaded: it has ten minutes for its first answer. Every other server has
    // four. A pod that ends may be unreachable until it is removed: it is down two minutes after its last answer. Silent
    // servers are added, unless the whole cluster is silent, which is TritonServersLost.
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

    // The same without the servers of a missing agent: TritonobsAgentMissing reports them.
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
  };

// A fault of a host, or of a Prometheus, affects all of its rows and should be one alert. Up to three `rows` are returned as
// they are. More than three become one row with their number as its value and only the labels `by`.
local crowd =
  function(rows, by) fit(|||
    (
      (
        %(rows)s
      )
      unless on (%(by)s)
      (
        count by (%(by)s) (
          %(rows)s
        ) > 3
      )
    )
    or
    (
      count by (%(by)s) (
        %(rows)s
      ) > 3
    )
  |||, { rows: rows, by: by });
{ down: down, crowd: crowd }
