// Servers: which are there, which do not answer, and which are slower than their peers.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // Who is there: clusters, servers, and which server has which model. What these say decides what silence means.
  local presence =
    local down = (import '../lib/servers.libsonnet').down;
    local parts = shards.parts_of(config);
    local where_shared(expr) = if parts.missing == '' then '' else '\nor\n' + expr;
    local succeeded = 'sum by (%(replica_only)s) (nv_inference_request_success{%(triton)s})';
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
      // Every cluster that has servers, models or limits now.
      text.record('cluster:tritonobs_known:info', fit(|||
        %(targets)s
        or
        group by (%(cluster)s) (tritonobs_model_info)
        or
        group by (%(cluster)s) (model_version:triton_requests_succeeded:rate%(short)s)
      |||, { targets: text.targets.here })) + shards.parts([text.targets]),
      // This Prometheus evaluates; where it did not, it was away, and what it shows may be of before.
      text.record('cluster:tritonobs_evaluated:info', 'group by (%(cluster)s) (up{%(triton)s})') + shards.kept,
      // Servers of which no samples come any more, although nothing has ended their series: those who send them, agents or
      // remote write, are gone. Prometheus shows `up` as it was last for five minutes, and nothing then.
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
      // So few answers that no rate is known, or empty ones; what this server does is unknown. A lost scrape or two are none
      // of it. What was silent stays so for an hour, or until samples come.
      // Nor can servers be asked whose shard or agent is missing.
      text.record('replica:triton_unreachable:info', unreachable.here + where_shared(parts.blind)) + shards.parts([unreachable]),
      // Servers that were there and answer again: they catch up with what came meanwhile, in a burst that says nothing of traffic now.
      text.record('replica:triton_returned:info', |||
        group by (%(replica_only)s) (max_over_time(replica:triton_unreachable:info[%(returnWindow)s]))
          and on (%(replica_only)s)
        (up{%(triton)s} == 1)
          and on (%(replica_only)s)
        up{%(triton)s} offset %(span5m)s
      |||) + shards.max,
      // Servers that are down; those that have been for long, and when that began.
      text.record('replica:triton_down:info', down.down_of(config)) + shards.max,
      text.record('replica:triton_outage:info', |||
        count_over_time(replica:triton_down:info[%(outageWindow)s]) >= %(outageSamples)s and replica:triton_down:info
      |||),
      text.record('replica:triton_outage_begins:info', |||
        replica:triton_outage:info unless replica:triton_outage:info offset %(stepBefore)s
      |||),
      // Servers that were found within ten minutes or answer now, have not answered twice and had no models before: what
      // they have no one knows yet. The same is so of all servers when Prometheus starts.
      text.record('replica:triton_starting:info', fit(|||
        replica:triton_unreachable:info
          and on (%(replica_only)s)
        %(young)s
          unless on (%(replica_only)s)
        replica_model_version:triton_loaded:last_seen_seconds
      |||, { young: young.here })) + shards.parts([young]),
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
      // How often of late a server's page was that of another: one server under two addresses, each of whose requests counts
      // twice. The microseconds that all of its requests took are no other server's, after twenty of them.
      text.record('replica:triton_request_microseconds:sum', fit(|||
        sum by (%(replica_only)s) (nv_inference_request_duration_us{%(triton)s})
          and on (%(replica_only)s)
        (%(succeeded)s >= 20)
      |||, { succeeded: succeeded })) + shards.max,
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
      // Models on such servers, and the fleet.
      text.record('model:triton_scraped_twice:info', |||
        group by (%(model)s) (
          replica_model_version:triton_requests_succeeded:rate%(short)s
            and on (%(replica_only)s)
          (replica:triton_same_page:info or replica:triton_scraped_twice:count)
        )
        or
        group by (%(cluster)s) (replica:triton_same_page:info or replica:triton_scraped_twice:count)
      |||),
      // 1 once after each start: the counters of all models begin at 0. A model that is unloaded takes its own away, which
      // hardly ever is more than half.
      text.record('replica:triton_restarted:bool', fit(|||
        %(now)s
          < bool on (%(replica_only)s)
        last_over_time(replica:triton_requests_succeeded:sum[%(span5m)s] offset %(step)s) / 2
      |||, { now: if config.recordsAtOnce then 'replica:triton_requests_succeeded:sum' else succeeded })) + shards.max,
    ];

  // Replicas of a model beside each other. With many servers these are many rows, and nobody acts on them within seconds.
  local replicas =
    local mean_of = (import '../lib/counters.libsonnet').mean;
    [
      text.record('replica_model_version:triton_request_duration_seconds:mean5m', mean_of(
        'replica_model_version:triton_request_duration_seconds:rate%(short)s',
        'replica_model_version:triton_requests_succeeded:rate%(short)s'
      )),
      // How much slower than its peers, taken together and weighted by their requests.
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
      // When a server last had a model version, for an hour after it. Of samples this far apart an hour has few.
      text.record('replica_model_version:triton_loaded:timestamp_seconds', |||
        group by (%(subject)s, %(replica)s) (replica_model_version:triton_requests_succeeded:rate%(short)s) * time()
      |||),
      text.record('replica_model_version:triton_loaded:last_seen_seconds', |||
        last_over_time(replica_model_version:triton_loaded:timestamp_seconds[%(span1h)s])
      |||),
    ];
  { presence: presence, replicas: replicas }
