// Replicas of a model beside each other. With many servers these are many rows, and nobody acts on them within seconds.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local mean_of = import '../lib/mean.libsonnet';
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
  ]
