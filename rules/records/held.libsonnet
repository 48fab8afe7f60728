// What is held for an hour when every source of it is gone, by its record: the series, and how its rows become one for
// each subject. More than one row (two sources, one of them not up to date) would make every join with it fail.
{
  'subject:tritonobs_model_info': { series: 'tritonobs_model_info', by: '%(owner)s', keep: '%(subject)s', how: 'group' },
  'subject:tritonobs_qps_limit': { series: 'tritonobs_qps_limit', by: '%(subject)s' },
  'subject_kind:tritonobs_tokens_per_second_limit': {
    series: 'tritonobs_tokens_per_second_limit',
    by: '%(subject)s, kind',
  },
  'pipeline_stage_model:tritonobs_pipeline_calls': {
    series: 'tritonobs_pipeline_calls',
    by: '%(pipeline)s, stage, model',
  },
  'subject_slo:tritonobs_latency_target_seconds': {
    series: 'tritonobs_latency_target_seconds',
    by: '%(subject)s, slo, stage, le',
    keep: '%(subject)s, slo',
  },
  // SLOs of availability that charge the caller's fault, too.
  'subject_slo:tritonobs_slo_invalid_charged': { series: 'tritonobs_slo_invalid_charged', by: '%(subject)s, slo' },
  'subject_slo:tritonobs_slo_objective': { series: 'tritonobs_slo_objective_ratio', by: '%(subject)s, slo' },
}
