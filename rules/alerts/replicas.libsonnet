// A replica beside its peers. It stands in the group of the record it reads, which is evaluated seldom.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  [
    text.alert('TritonReplicaSlow', 'warning', text.owned_version(|||
      (replica_model_version:triton_request_duration_seconds_per_peers:ratio5m > %(skewRatio)s)
      and on (%(subject)s, %(replica)s)
      (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(span5m)s]) * %(seconds5m)s >= %(skewRequests)s)
      and on (%(subject)s, %(replica)s)
      (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(medium)s]) > 0)
    |||), {
      summary: 'A model is slower on one server than on the others.',
      description: 'A request to ' + say.model + ' takes ' + say.number +
                   ' times as long on {{ $labels.%(replicaLabel)s }} as on the other replicas. Look at the load, clocks, temperature and neighbours of that machine, or take it out of service.',
      board: boards.link('model', ['model', 'version'], 'replica_model_version:triton_request_duration_seconds:mean5m'),
    }, wait='10m'),
  ]
