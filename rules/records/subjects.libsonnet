// Traffic as limits are about it: of a model version, of a model over all versions, of the whole fleet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  [
    // What clients ask of a model: all of its traffic but what pipelines cause. Pipelines that give up early cause
    // less than assumed, never more.
    text.record('model:triton_requests_from_clients:rate%(short)s', |||
      clamp_min(
        sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
          - on (%(model)s)
        sum by (%(model)s) (
          pipeline_stage_model:tritonobs_pipeline_calls:held
            * on (%(pipeline)s) group_left ()
          label_replace(
            sum by (%(model)s) (model_version:triton_requests:rate%(short)s),
            "pipeline", "$1", "model", "(.*)"
          )
        ),
        0
      )
      or
      sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
    |||),
    text.record('subject:triton_requests:rate%(short)s', |||
      model_version:triton_requests:rate%(short)s
      or
      sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
      or
      sum by (%(cluster)s) (model:triton_requests_from_clients:rate%(short)s)
    |||),
    text.record('subject:triton_requests:rate5m', |||
      avg_over_time(subject:triton_requests:rate%(short)s[5m])
      and
      subject:triton_requests:rate%(short)s
    |||),
    // Between the last two scrapes: bursts that every longer window hides.
    text.record('model_version:triton_requests_succeeded:irate%(short)s', |||
      sum by (%(subject)s) (irate(nv_inference_request_success{%(triton)s}[%(short)s]))
    |||),
    // Whose every subject is: exactly one row for each, with empty labels for what the fleet file does not name.
    text.record('subject:tritonobs_owner:info', |||
      subject:tritonobs_model_info:held
      or on (%(subject)s)
      group by (%(subject)s) (subject:triton_requests:rate%(short)s)
      or on (%(subject)s)
      group by (%(subject)s) (slo:objective:ratio)
    |||),
  ]
