// Limits and objectives as the other rules read them: aggregated over their sources, and held for an hour when every
// source is gone. A row taken back while a source is there is gone at once. `version=""` is a model over all its
// versions, `model=""` the fleet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local held(name, by, keep='', how='max') =
    local one(series) =
      local rows = how + ' by (' + by + ') (' + series + ')';
      // More than one row (two sources, one of them not up to date) would make every join with it fail.
      if keep == '' then rows else 'topk by (' + keep + ') (1, ' + rows + ')';
    put(|||
      <now>
      or
      (
        <last>
          unless on (%(cluster)s)
        group by (%(cluster)s) (tritonobs_model_info)
      )
    |||, { now: one(name), last: one('last_over_time(' + name + '[1h])') });
  [
    text.record(
      'subject:tritonobs_model_info:held',
      held('tritonobs_model_info', '%(owner)s', '%(subject)s', 'group'),
    ),
    text.record('subject:tritonobs_qps_limit:held', held('tritonobs_qps_limit', '%(subject)s')),
    text.record(
      'subject_kind:tritonobs_tokens_per_second_limit:held',
      held('tritonobs_tokens_per_second_limit', '%(subject)s, kind'),
    ),
    text.record(
      'pipeline_stage_model:tritonobs_pipeline_calls:held',
      held('tritonobs_pipeline_calls', '%(pipeline)s, stage, model'),
    ),
    text.record(
      'subject_slo:tritonobs_latency_target_seconds:held',
      held('tritonobs_latency_target_seconds', '%(subject)s, slo, stage, le', '%(subject)s, slo'),
    ),
    // The labels Sloth's boards select on: a service is a model, and "latency-v2" its SLO for version 2.
    text.record('slo:objective:ratio', put(|||
      label_join(
        label_replace(
          label_replace(
            label_join(
              (<objective>),
              "sloth_slo", "-v", "slo", "version"
            ),
            "sloth_slo", "$1", "sloth_slo", "(.*)-v"
          ),
          "sloth_service", "$1", "model", "(.*)"
        ),
        "sloth_id", "-", "sloth_service", "sloth_slo"
      )
    |||, {
      objective: std.strReplace(
        text.trimmed(held('tritonobs_slo_objective_ratio', '%(subject)s, slo')), '\n', '\n        '
      ),
    })),
  ]
