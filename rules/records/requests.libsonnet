// Requests a second: how many, and how they ended. What SLOs count is in events.libsonnet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local ensembles = import '../lib/ensembles.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local failed = 'model_version_reason:triton_requests_failed:rate%(short)s';
  local failing(reasons) = '(rate(nv_inference_request_failure{%(triton)s' + reasons + '}[%(short)s]) > 0)';
  local none(reason) =
    'label_replace(model_version:triton_requests_succeeded:rate%(short)s * 0, "reason", "' + reason + '", "", "")';
  [
    text.record('replica_model_version:triton_requests_succeeded:rate%(short)s', |||
      sum by (%(subject)s, %(replica)s) (rate(nv_inference_request_success{%(triton)s}[%(short)s]))
    |||) + shards.sum,
    text.record('model_version:triton_requests_succeeded:rate%(short)s', |||
      sum by (%(subject)s) (replica_model_version:triton_requests_succeeded:rate%(short)s)
    |||),
    // Nearly all failure counters do not move: only those that move are joined with what their model is. Failures of a
    // model that was unloaded stay on the page: without successes, history.
    text.record(failed, fit(|||
      (
        %(failed)s
        and on (%(subject)s)
        model_version:triton_requests_succeeded:rate%(short)s
      )
      or
      %(none)s
    |||, {
      failed: ensembles(
        function(reasons) text.given(failed, shards.sum, failing(', ' + reasons), reasons),
        'group by (%(model)s) (model_version:triton_requests_succeeded:rate%(short)s)',
      ),
      none: text.all([none(reason) for reason in ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER']]),
    })) + shards.parts([text.part(failed, shards.sum, 'sum by (%(subject)s, reason) ' + failing(''))]),
    text.record('model_version_outcome:tritonobs_requests:rate%(short)s', |||
      sum by (%(subject)s, outcome) (rate(tritonobs_requests_total{%(triton)s}[%(short)s]))
    |||) + shards.sum,
    text.record('model_version:triton_requests:rate%(short)s', |||
      (
        model_version:triton_requests_succeeded:rate%(short)s
          + on (%(subject)s)
        sum by (%(subject)s) (model_version_reason:triton_requests_failed:rate%(short)s > 0)
      )
      or
      model_version:triton_requests_succeeded:rate%(short)s
    |||),
  ] + (
    if config.mediumWindow == config.shortWindow then [] else [
      text.record('model_version:triton_requests:rate%(medium)s', |||
        avg_over_time(model_version:triton_requests:rate%(short)s[%(medium)s])
        and
        model_version:triton_requests:rate%(short)s
      |||),
    ]
  )
