// Traffic that stopped, until it is back, or for a day. What an hour of traffic said is forgotten within that hour, so when
// it stopped is recorded, and when something came last since. The alert stands behind the records it reads.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local yesterday = 'printf "subject:triton_requests:rate5m{%(clusterIs)smodel=%%q,version=\\"\\"} offset %(span1d)s" %(clusterValue)s(print $labels.model) | query';
  local stopped = 'model:tritonobs_traffic_stopped:timestamp_seconds';
  local back = 'model:tritonobs_traffic_back:timestamp_seconds';
  local within(series) = 'max_over_time(' + series + '[%(span1d)s])';
  [
    // Of a model over all its versions: a rollout drains the old one on purpose. Both means of 5 m are 0, so no request
    // came for ten minutes, after an hour in which they came for a quarter at least: not somebody's first try. Where the
    // model itself counts some, it is Triton that counts none.
    text.record(stopped, |||
      timestamp(
        (subject:triton_requests:rate5m{model!="", version=""} == 0)
        and on (%(model)s)
        (subject:triton_requests:rate5m{version=""} offset %(span5m)s == 0)
        and on (%(model)s)
        (subject:triton_requests:p75_1h * %(seconds10m)s >= %(silenceRequests)s)
        and on (%(model)s)
        subject:triton_requests:rate5m{version=""} offset %(span70m)s
        unless on (%(model)s)
        (subject:triton_requests:rate5m{version=""} offset %(span1d)s == 0)
        unless on (%(model)s)
        (model_instance:tritonobs_worker_alive:bool == 0)
        unless on (%(model)s)
        (model_version:triton_requests_pending:sum > 0)
        unless on (%(model)s)
        (avg_over_time(model_version_outcome:tritonobs_requests:rate%(short)s[%(span5m)s]) > 0)
        unless on (%(model)s)
        model_version:triton_servers_unreachable:count
      )
    |||),
    // A request that waits has come, too.
    text.record(back, fit(|||
      timestamp(
        (
          (subject:triton_requests:rate5m{model!="", version=""} > 0)
          or on (%(model)s)
          sum by (%(model)s) (model_version:triton_requests_pending:sum > 0)
        )
        and on (%(model)s)
        %(stopped)s
      )
    |||, { stopped: within(stopped) })),
    // Through a restart of its servers it is silent still; a dead worker is another alert.
    text.alert('TritonTrafficStopped', 'warning', text.owned_whole(fit(|||
      (last_over_time(subject:triton_requests:rate5m{model!="", version=""}[%(span5m)s]) == 0)
      and on (%(model)s)
      (
        %(stopped)s
          unless on (%(model)s)
        (%(back)s > on (%(model)s) %(stopped)s)
      )
      unless on (%(model)s)
      (model_instance:tritonobs_worker_alive:bool == 0)
    |||, { stopped: within(stopped), back: within(back) })), {
      summary: 'A model gets no requests any more.',
      description: 'No request for ' + say.model +
                   ' has come for 10 minutes and more, though it is loaded, its workers live and Prometheus sees them{{ with ' +
                   yesterday + ' }}; yesterday at this time it got {{ . | first | value | printf "%%.4g" }}/s{{ else }}; what it got yesterday at this time Prometheus does not know, so a job that runs once a day looks the same on its first day{{ end }}. Look at its callers, load balancers and DNS. The alert lasts until a request comes, or a day.',
      board: boards.link('model', ['model', 'version'], 'subject:triton_requests:rate5m'),
    }, wait='30s'),
  ]
