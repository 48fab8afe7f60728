// Requests: how many, and how they ended. Only here are Triton's request counters read, in the shortest window.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  // Failures for some reasons; those of an ensemble are marked by their kind, and `counted` is done to them.
  local failed(reasons, counted) = put(|||
    sum by (%(subject)s, reason) (rate(nv_inference_request_failure{%(triton)s, reason<reasons>}[%(short)s]))
      * on (%(model)s) group_left (kind)
    (
      group by (%(model)s, kind) (subject:tritonobs_model_info:held{kind="ensemble"})<counted>
      or on (%(model)s)
      group by (%(model)s) (model_version:triton_requests_succeeded:rate%(short)s)
    )
  |||, { reasons: reasons, counted: counted });
  [
    text.record('replica_model_version:triton_requests_succeeded:rate%(short)s', |||
      sum by (%(subject)s, %(replica)s) (rate(nv_inference_request_success{%(triton)s}[%(short)s]))
    |||),
    text.record('model_version:triton_requests_succeeded:rate%(short)s', |||
      sum by (%(subject)s) (replica_model_version:triton_requests_succeeded:rate%(short)s)
    |||),
    // A failed ensemble request counts twice as OTHER, once under version 1 and once under its own: halved, and under
    // 1 as its successes are. Failures of a model that was unloaded stay on the page: without successes, history.
    // Every counter is read but once: with four reasons on each server there are more of these than of any other.
    text.record('model_version_reason:triton_requests_failed:rate%(short)s', put(|||
      sum by (%(subject)s, reason) (
        label_replace(
          sum by (%(model)s, counted, reason) (
            label_replace(
              label_replace(
                <rates>,
                "counted", "$1", "version", "(.*)"
              ),
              "counted", "1", "kind", "ensemble"
            )
          ),
          "version", "$1", "counted", "(.*)"
        )
      )
      and on (%(subject)s)
      model_version:triton_requests_succeeded:rate%(short)s
    |||, {
      rates: std.strReplace(
        text.all([failed('="OTHER"', ' / 2'), failed('!="OTHER"', '')]), '\n', '\n' + std.repeat(' ', 16)
      ),
    })),
    text.record('model_version_outcome:tritonobs_requests:rate%(short)s', |||
      sum by (%(subject)s, outcome) (rate(tritonobs_requests_total{%(triton)s}[%(short)s]))
    |||),
    text.record('model_version:triton_requests:rate%(short)s', |||
      model_version:triton_requests_succeeded:rate%(short)s
        + on (%(subject)s)
      sum by (%(subject)s) (model_version_reason:triton_requests_failed:rate%(short)s)
    |||),
    // What ended badly. An error reply is a success to Triton, a dead worker counts nothing itself: of both views of
    // what the model did, the worse is true. What never reached the model only Triton saw. (No reason: before 24.07.)
    text.record('model_version:triton_requests_bad:rate%(short)s', |||
      max by (%(subject)s) (
        label_replace(
          sum by (%(subject)s) (model_version_outcome:tritonobs_requests:rate%(short)s{outcome=~"error|rejected"}),
          "seen_by", "model", "", ""
        )
        or
        sum by (%(subject)s) (model_version_reason:triton_requests_failed:rate%(short)s{reason=~"BACKEND|"})
        or
        model_version:triton_requests_succeeded:rate%(short)s * 0
      )
      + on (%(subject)s)
      (
        sum by (%(subject)s) (
          model_version_reason:triton_requests_failed:rate%(short)s{reason!~"BACKEND|CANCELED|"}
        )
        or
        model_version:triton_requests_succeeded:rate%(short)s * 0
      )
    |||),
  ] + (
    if config.mediumWindow == config.shortWindow then [] else [
      text.record('model_version:triton_requests:rate%(medium)s', |||
        avg_over_time(model_version:triton_requests:rate%(short)s[%(medium)s])
        and
        model_version:triton_requests:rate%(short)s
      |||),
    ]
  ) + [
    text.record('model_version:triton_requests:rate5m', |||
      avg_over_time(model_version:triton_requests:rate%(short)s[5m])
      and
      model_version:triton_requests:rate%(short)s
    |||),
    text.record('model_version:triton_requests_bad_per_requests:ratio_rate5m', |||
      avg_over_time(model_version:triton_requests_bad:rate%(short)s[5m])
        /
      (model_version:triton_requests:rate5m > 0)
    |||),
  ]
