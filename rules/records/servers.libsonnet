// Servers: which exist, which do not answer, and which are slower than the other replicas.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // Clusters that have servers, models or limits now. They are read over an hour.
  local clusters = [
    text.record('cluster:tritonobs_known:info', fit(|||
      %(targets)s
      or
      group by (%(cluster)s) (tritonobs_model_info)
      or
      group by (%(cluster)s) (model_version:triton_requests_succeeded:rate%(short)s)
    |||, { targets: text.targets.here })) + shards.parts([text.targets]),
  ];

  // Clusters, servers, and the models of each server. By these records alerts distinguish a model that is missing from one
  // that cannot be seen.
  local presence =
    local down = (import '../lib/servers.libsonnet').down;
    local parts = shards.parts_of(config);
    local where_shared(expr) = if parts.missing == '' then '' else '\nor\n' + expr;
    local succeeded = 'sum by (%(replica_only)s) (nv_inference_request_success{%(triton)s})';
    local succeeded_now = if config.recordsAtOnce then 'replica:triton_requests_succeeded:sum' else succeeded;
    local unreachable_now = |||
      group by (%(replica_only)s) (
        (up{%(triton)s} unless (sum_over_time(up{%(triton)s}[%(short)s]) > 1))
        or
        ((scrape_samples_post_metric_relabeling{%(triton)s} == 0) and (up{%(triton)s} == 1))
      )
      or
      %(silent)s
    |||;
    local unreachable = text.part('replica:triton_unreachable:info', shards.max, fit(unreachable_now, { silent: down.silent }));
    local young = text.part('replica:triton_young:info', shards.max, |||
      group by (%(replica_only)s) (
        (up{%(triton)s} and (count_over_time(up{%(triton)s}[%(span10m)s]) < 0.9 * %(seconds10m)s / %(scrapeSeconds)s))
        or
        (up{%(triton)s} == 1)
      )
    |||);
    [
      // A row at every evaluation of this Prometheus. A gap means that it was down, and that samples may be from before it.
      text.record('cluster:tritonobs_evaluated:info', 'group by (%(cluster)s) (up{%(triton)s})') + shards.kept,
      // Servers whose samples stopped without a staleness marker, because the agent or the remote write that sends them has
      // stopped. Prometheus shows the last `up` for five minutes. The rule needs five minutes of evaluations, or it would
      // report a Prometheus that was down itself.
      text.record('replica:triton_silent:info', |||
        group by (%(replica_only)s) (
          (up{%(triton)s} unless count_over_time(up{%(triton)s}[%(freshWindow)s]))
            and on (%(cluster)s)
          (
            count_over_time(cluster:tritonobs_evaluated:info[%(span5m)s])
              >= 0.9 * %(seconds5m)s / %(evaluationSeconds)s
          )
        )
      |||) + shards.max,
      // Servers with an unknown state: no two successful scrapes in a short window, or no samples, or silent within the
      // hour. One or two lost scrapes are not enough. Servers of a missing shard or agent are added.
      text.record('replica:triton_unreachable:info', unreachable.here + where_shared(parts.blind)) + shards.parts([unreachable]),
      // Servers that are down; those that have been down for the whole `for` of the alert; and the beginnings of such
      // outages.
      text.record('replica:triton_down:info', down.down_of(config)) + shards.max,
      text.record('replica:triton_outage:info', |||
        count_over_time(replica:triton_down:info[%(outageWindow)s]) >= %(outageSamples)s and replica:triton_down:info
      |||),
      (import '../lib/again.libsonnet').returning(config).down.begins,
      // Servers with unknown models: unreachable, found within ten minutes or answering now, and without models in the last
      // hour. After a start of Prometheus all servers are such.
      text.record('replica:triton_starting:info', fit(|||
        replica:triton_unreachable:info
          and on (%(replica_only)s)
        %(young)s
          unless on (%(replica_only)s)
        replica_model_version:triton_loaded:last_seen_seconds
      |||, { young: young.here })) + shards.parts([young]),
      // The number of servers that had the version within the hour and are unreachable: its traffic may be there. Where a
      // shard or agent is missing, versions that were not seen for an hour are added, because that scraper may have them.
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
      // Successful requests since the server started. A gap in this record is a gap of successful scrapes.
      text.record('replica:triton_requests_succeeded:sum', succeeded) + shards.kept,
      // The time of the longest load, to the microsecond: each start of a server has another one, and a lost scrape does not.
      text.record('replica:triton_load_seconds:max', |||
        max by (%(replica_only)s) (nv_model_load_duration_secs{%(triton)s} > 0)
      |||) + shards.kept,
      // Replicas whose page equals that of another: one server under two addresses, whose requests count twice. Two servers
      // do not have the same sum of microseconds after twenty requests.
      text.record('replica:triton_request_microseconds:sum', fit(|||
        sum by (%(replica_only)s) (nv_inference_request_duration_us{%(triton)s})
          and on (%(replica_only)s)
        (%(succeeded)s >= 20)
      |||, { succeeded: succeeded_now })) + shards.max,
      text.record('replica:triton_same_page:info', |||
        group by (%(replica_only)s) (
          count_values by (%(replica_only)s) ("microseconds", replica:triton_request_microseconds:sum)
            and on (%(page)s)
          (count_values by (%(cluster)s) ("microseconds", replica:triton_request_microseconds:sum) > 1)
        )
      |||),
      text.record('replica:triton_scraped_twice:count', |||
        count_over_time(replica:triton_same_page:info[%(twinWindow)s]) >= 2
      |||),
      // Model versions that several targets show alike, also where these targets have one replica label (a pod with two
      // ports). The sum of microseconds changes at each scrape, and is left out.
      text.record('model_version:triton_scraped_twice:count', |||
        max by (%(subject)s) (
          count_values by (%(subject)s) (
            "microseconds",
            nv_inference_request_duration_us{%(triton)s} and nv_inference_request_success{%(triton)s} >= 100
          ) > 1
        )
        or
        (count_values by (%(subject)s) ("loaded_in", nv_model_load_duration_secs{%(triton)s} > 0) > 1)
      |||) + shards.max,
      // Models on such servers, and the fleet.
      text.record('model:triton_scraped_twice:info', |||
        group by (%(model)s) (model_version:triton_scraped_twice:count)
        or
        group by (%(model)s) (
          replica_model_version:triton_requests_succeeded:rate%(short)s
            and on (%(replica_only)s)
          (replica:triton_same_page:info or replica:triton_scraped_twice:count)
        )
        or
        group by (%(cluster)s) (replica:triton_same_page:info or replica:triton_scraped_twice:count)
      |||),
      // 1 once after each start of a server, because the counters of all models reset to 0. An unloaded model removes its
      // counters, too, but rarely more than half of the sum.
      text.record('replica:triton_restarted:bool', fit(|||
        %(now)s
          < bool on (%(replica_only)s)
        last_over_time(replica:triton_requests_succeeded:sum[%(span5m)s] offset %(evaluationInterval)s) / 2
      |||, { now: succeeded_now })) + shards.max,
    ];

  // Replicas of one model compared. With many servers these are many rows, and no one acts on them within seconds.
  local replicas =
    local mean_of = (import '../lib/counters.libsonnet').mean;
    [
      text.record('replica_model_version:triton_request_duration_seconds:mean5m', mean_of(
        'replica_model_version:triton_request_duration_seconds:rate%(short)s',
        'replica_model_version:triton_requests_succeeded:rate%(short)s'
      )),
      // The mean request time, divided by that of all other replicas, weighted by requests.
      text.record('replica_model_version:triton_request_duration_seconds_per_peers:ratio5m', |||
        replica_model_version:triton_request_duration_seconds:mean5m
          /
        (
          (
            sum by (%(subject)s) (avg_over_time(replica_model_version:triton_request_duration_seconds:rate%(short)s[%(span5m)s]))
              - on (%(subject)s) group_right ()
            avg_over_time(replica_model_version:triton_request_duration_seconds:rate%(short)s[%(span5m)s])
          )
            /
          (
            sum by (%(subject)s) (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(span5m)s]))
              - on (%(subject)s) group_right ()
            avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(span5m)s])
              > 1e-6
          )
        )
      |||),
      // The last time a server had a model version, shown for an hour after it. The group is evaluated every 2 m, so an hour
      // has few samples.
      text.record('replica_model_version:triton_loaded:timestamp_seconds', |||
        group by (%(subject)s, %(replica)s) (replica_model_version:triton_requests_succeeded:rate%(short)s) * time()
      |||),
      text.record('replica_model_version:triton_loaded:last_seen_seconds', |||
        last_over_time(replica_model_version:triton_loaded:timestamp_seconds[%(span1h)s])
      |||),
    ];
  { clusters: clusters, presence: presence, replicas: replicas }
