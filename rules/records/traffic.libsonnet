// Requests: how many, and how they ended. The only place that reads Triton's request counters.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  text.group('traffic', config.evaluationInterval, [
    text.record('model_version:triton_requests_succeeded:rate%(short)s', |||
      sum by (%(model_version)s) (rate(nv_inference_request_success{%(triton)s}[%(short)s]))
    |||),
    text.record('model_version_reason:triton_requests_failed:rate%(short)s', |||
      sum by (%(model_version)s, reason) (rate(nv_inference_request_failure{%(triton)s}[%(short)s]))
    |||),
    text.record('model_version_outcome:tritonobs_requests:rate%(short)s', |||
      sum by (%(model_version)s, outcome) (rate(tritonobs_requests_total{%(triton)s}[%(short)s]))
    |||),
    text.record('model_version:triton_requests:rate%(short)s', |||
      model_version:triton_requests_succeeded:rate%(short)s
        + on (%(model_version)s)
      sum by (%(model_version)s) (model_version_reason:triton_requests_failed:rate%(short)s)
    |||),
    text.record('model_version:triton_requests_bad:rate%(short)s', |||
      sum by (%(model_version)s) (model_version_outcome:tritonobs_requests:rate%(short)s{outcome=~"error|rejected"})
      or
      sum by (%(model_version)s) (model_version_reason:triton_requests_failed:rate%(short)s{reason!="CANCELED"})
        and on (%(model_version)s)
      model_version:triton_requests_succeeded:rate%(short)s
    |||),
  ] + (
    if config.mediumWindow == config.shortWindow then [] else [
      text.record('model_version:triton_requests:rate%(medium)s', |||
        avg_over_time(model_version:triton_requests:rate%(short)s[%(medium)s])
      |||),
    ]
  ) + [
    text.record('model_version:triton_requests:rate5m', |||
      avg_over_time(model_version:triton_requests:rate%(short)s[5m])
    |||),
    text.record('model_version:triton_requests_bad_per_requests:ratio_rate5m', |||
      avg_over_time(model_version:triton_requests_bad:rate%(short)s[5m])
        /
      (model_version:triton_requests:rate5m > 0)
    |||),
    text.record('limit_subject:triton_requests:rate%(short)s', |||
      model_version:triton_requests:rate%(short)s
      or
      sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
    |||),
  ])
