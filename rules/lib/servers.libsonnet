// Servers that do not answer, and faults of many at once.
local fit = import 'fit.libsonnet';
local shards = import 'shards.libsonnet';

// Servers that are down, and those of which no one sends samples any more.
local down =
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
  };

// One fault of a host, or of a Prometheus, is in every row of it, and is one alert. Of more than three rows there is one
// row, which has their number as its value and no label but those it is counted `by`; up to three are said each by itself.
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
