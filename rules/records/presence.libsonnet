// Who is there: clusters, servers, and which server has which model. What these say decides what silence means.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local shards = import '../lib/shards.libsonnet';
  local parts = shards.parts_of(config);
  local where_shared(expr) = if parts.missing == '' then '' else '\nor\n' + expr;
  local succeeded = 'sum by (%(replica_only)s) (nv_inference_request_success{%(triton)s})';
  local unreachable = text.part('replica:triton_unreachable:info', shards.max, |||
    group by (%(replica_only)s) (
      ((sum_over_time(up{%(triton)s}[%(short)s]) <= 1) and (up{%(triton)s} == 0))
      or
      ((scrape_samples_post_metric_relabeling{%(triton)s} == 0) and (up{%(triton)s} == 1))
    )
  |||);
  [
    // Every cluster that has servers, models or limits now.
    text.record('cluster:tritonobs_known:info', fit(|||
      %(targets)s
      or
      group by (%(cluster)s) (tritonobs_model_info)
      or
      group by (%(cluster)s) (model_version:triton_requests_succeeded:rate%(short)s)
    |||, { targets: text.targets.here })) + shards.parts([text.targets]),
    // So few answers that no rate is known, or empty ones; what this server does is unknown. A lost scrape or two are none
    // of it.
    // Nor can servers be asked whose shard or agent is missing.
    text.record('replica:triton_unreachable:info', unreachable.here + where_shared(parts.blind)) + shards.parts([unreachable]),
    // Servers that answer again: they catch up with what came meanwhile, in a burst that says nothing of traffic now.
    text.record('replica:triton_returned:info', |||
      group by (%(replica_only)s) (max_over_time(replica:triton_unreachable:info[%(returnWindow)s]))
        unless
      replica:triton_unreachable:info
    |||) + shards.max,
    // Servers that had the model within the last hour and cannot be asked now: the traffic may be there.
    // For longer than the hour nobody knows what a shard or agent had that is missing.
    text.record('model_version:triton_servers_unreachable:count', |||
      count by (%(subject)s) (
        replica_model_version:triton_loaded:last_seen_seconds
          and on (%(replica_only)s)
        replica:triton_unreachable:info
      )
    ||| + where_shared(fit(|||
      (
        subject:tritonobs_model_info:held{version!=""}
          unless on (%(subject)s)
        replica_model_version:triton_loaded:last_seen_seconds
          and on (%(cluster)s)
        group by (%(cluster)s) (
          %(missing)s
        )
      )
    |||, { missing: parts.gone }))),
    // Every request a server answered since it started; it has a sample only where the server was scraped.
    text.record('replica:triton_requests_succeeded:sum', succeeded) + shards.kept,
    // 1 once after each start: the counters of all models begin at 0. A model that is unloaded takes its own away, which
    // hardly ever is more than half.
    text.record('replica:triton_restarted:bool', fit(|||
      %(now)s
        < bool on (%(replica_only)s)
      last_over_time(replica:triton_requests_succeeded:sum[%(span5m)s] offset %(step)s) / 2
    |||, { now: if config.recordsAtOnce then 'replica:triton_requests_succeeded:sum' else succeeded })) + shards.max,
  ]
