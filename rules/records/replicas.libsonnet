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
          sum by (%(subject)s) (avg_over_time(replica_model_version:triton_request_duration_seconds:rate%(short)s[5m]))
            - on (%(subject)s) group_right ()
          avg_over_time(replica_model_version:triton_request_duration_seconds:rate%(short)s[5m])
        )
          /
        (
          sum by (%(subject)s) (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[5m]))
            - on (%(subject)s) group_right ()
          avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[5m])
            > 1e-6
        )
      )
    |||),
  ]
