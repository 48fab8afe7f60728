// Limits and objectives as the other rules read them: aggregated over their sources, and held for an hour when every
// source is gone. A row taken back while a source is there is gone at once. `version=""` is a model over all its
// versions, `model=""` the fleet.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local hold = import '../lib/hold.libsonnet';
  local sources = import 'held.libsonnet';
  local counts = import '../lib/counted.libsonnet';
  local held(name) = hold.held(name, sources[name]);
  local recorded(name) = text.record(name + ':held', held(name));
  local targets = 'subject_slo:tritonobs_latency_target_seconds:held';
  {
    last_hour: [
      text.record(name + ':last_hour', hold.last_hour(sources[name]))
      for name in std.objectFields(sources)
    ] + [
      text.record(counts.kept_slos, counts.slos),
      text.record(counts.kept_bounds, counts.bounds),
    ],
    // What limits are judged by.
    limits: [
      recorded('subject:tritonobs_model_info'),
      recorded('subject:tritonobs_qps_limit'),
      recorded('subject_kind:tritonobs_tokens_per_second_limit'),
      recorded('pipeline_stage_model:tritonobs_pipeline_calls'),
      // Whose every subject is: exactly one row for each, with empty labels for what the fleet file does not name.
      text.record('subject:tritonobs_owner:info', |||
        subject:tritonobs_model_info:held
        or on (%(subject)s)
        group by (%(subject)s) (subject:triton_requests:rate%(short)s)
        or on (%(subject)s)
        group by (%(subject)s) (slo:objective:ratio)
      |||),
    ],
    // What error budgets are judged by, and all that follows from it alone.
    promises: [
      recorded('subject_slo:tritonobs_latency_target_seconds'),
      recorded('subject_slo:tritonobs_slo_invalid_charged'),
      // The labels Sloth's boards select on: a service is a model, and "latency-v2" its SLO for version 2.
      text.record('slo:objective:ratio', fit(|||
        label_join(
          label_join(
            label_replace(
              label_join(
                (
                  %(objective)s
                ),
                "sloth_slo", "-v", "slo", "version"
              ),
              "sloth_slo", "$1", "sloth_slo", "(.*)-v"
            ),
            "sloth_service", "", "model"
          ),
          "sloth_id", "-", "sloth_service", "sloth_slo"
        )
      |||, {
        objective: held('subject_slo:tritonobs_slo_objective'),
      })),
      text.record('slo:error_budget:ratio', '1 - slo:objective:ratio'),
      // What burns slower than the smallest budget allows needs no budget of its own to be looked up.
      text.record('cluster:slo_error_budget:min', 'min by (%(cluster)s) (slo:error_budget:ratio)'),
      // The bounds that latency thresholds name, and all requests. Prometheus 3 writes 1.0 where others write 1.
      text.record('model_stage_le:tritonobs_latency_bound:info', fit(|||
        group by (%(model)s, stage, le) (%(targets)s)
        or
        group by (%(model)s, stage, le) (label_replace(%(targets)s, "le", "+Inf", "", ""))
        or
        group by (%(model)s, stage, le) (label_replace(%(targets)s, "le", "$1.0", "le", "([0-9]+)"))
      |||, { targets: targets })),
      // 1 for each SLO, with the stage and the bound of its latency threshold; all requests count for one without.
      text.record('slo:tritonobs_counted:info', fit(|||
        (slo:objective:ratio * 0 + 1)
          * on (%(subject)s, slo) group_left (stage, le)
        (
          (%(targets)s * 0 + 1)
          or on (%(subject)s, slo)
          group by (%(subject)s, slo) (slo:objective:ratio)
        )
      |||, { targets: targets })),
    ],
  }
