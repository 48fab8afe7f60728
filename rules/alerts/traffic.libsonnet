// No traffic, four causes told apart: nobody asks, nobody scrapes, the model is not loaded, its worker is dead. Each
// alert is silent in the other three cases.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local board = boards.link('model', ['model', 'version'], 'subject:triton_requests:rate5m');
  text.group('alerts.traffic', config.evaluationInterval, [
    text.alert('TritonServerDown', 'critical', 'up{%(triton)s} == 0', {
      summary: 'Triton on {{ $labels.%(replicaLabel)s }} cannot be scraped.',
      description: 'Prometheus has got no metrics from {{ $labels.%(replicaLabel)s }} for half a minute: the server is down, unreachable, or too busy to answer. Nothing is known about its models. Look whether it runs and what its log says.',
      board: boards.link('hosts', [], 'up'),
    }, wait='30s'),
    text.alert('TritonModelUnloaded', 'critical', |||
      (
        subject:tritonobs_model_info:held{version!=""}
          unless on (%(subject)s)
        model_version:triton_requests_succeeded:rate%(short)s
      )
      and on (%(cluster)s)
      count by (%(cluster)s) (up{%(triton)s} == 1)
      unless on (%(cluster)s)
      count by (%(cluster)s) (up{%(triton)s} == 0)
    |||, {
      summary: say.model + ' is not loaded on any server.',
      description: 'The fleet file promises ' + say.model +
                   ", and every server answers, but none has it loaded. Look into the servers' logs for why it was unloaded or failed to load, or take it out of the fleet file.",
      board: board,
    }, wait='1m'),
    text.alert('TritonWorkerDead', 'critical', text.owned(|||
      model_instance:tritonobs_heartbeats:changes%(medium)s == 0
    |||), {
      summary: 'A worker of ' + say.model + ' is dead although the model says it is ready.',
      description: 'The process of model instance {{ $labels.model_instance }} on {{ $labels.%(replicaLabel)s }} has given no sign of life for over {{ %(mediumSeconds)d | humanizeDuration }}; Triton goes on calling the model ready and requests to it fail or hang. Reload the model, or restart the server if the worker hangs; its log says why it died.',
      board: boards.link('model', ['model', 'version'], 'model_version:tritonobs_workers:count'),
    }, wait='15s'),
    // Of a model over all its versions: a rollout drains the old one on purpose.
    text.alert('TritonTrafficStopped', 'warning', text.owned_whole(|||
      (subject:triton_requests:rate5m{model!="", version=""} == 0)
      and on (%(model)s)
      (avg_over_time(subject:triton_requests:rate5m{version=""}[1h] offset 10m) * 600 >= %(silenceRequests)s)
      unless on (%(model)s)
      (subject:triton_requests:rate5m{version=""} offset 1d == 0)
      unless on (%(model)s)
      (model_instance:tritonobs_heartbeats:changes%(medium)s == 0)
      unless on (%(model)s)
      (model_version:triton_requests_pending:sum > 0)
      unless on (%(cluster)s)
      count by (%(cluster)s) (up{%(triton)s} == 0)
    |||), {
      summary: 'Nobody asks ' + say.model + ' any more.',
      description: say.model +
                   ' is loaded, its workers live and Prometheus sees them, but no request has come for 10 minutes, unlike yesterday at this time. Look at its callers, load balancers and DNS.',
      board: board,
    }, wait='5m'),
    text.alert('TritonTrafficDrop', 'warning', text.owned_whole(|||
      (
        subject:triton_requests:rate5m{model!="", version=""}
          < on (%(model)s)
        %(dropRatio)s * (subject:triton_requests:rate5m{version=""} offset 1d >= %(dropFloor)s)
      )
      and on (%(model)s)
      (subject:triton_requests:rate5m{version=""} > 0)
      unless on (%(model)s)
      (
        subject:triton_requests:rate5m{version=""}
          >= on (%(model)s)
        %(dropRatio)s * subject:triton_requests:rate5m{version=""} offset 7d
      )
      unless on (%(cluster)s)
      count by (%(cluster)s) (up{%(triton)s} == 0)
    |||), {
      summary: say.model + ' gets far fewer requests than usual at this time.',
      description: say.model + ' gets ' + say.number + ' requests/s; yesterday at this time it was ' +
                   say.look('subject:triton_requests:rate5m', ['model', 'version'], 'printf "%%.4g"', ' offset 1d') +
                   '. Some caller stopped or fails before it reaches Triton: look at callers, load balancers and DNS.',
      board: board,
    }, wait='10m'),
  ])
