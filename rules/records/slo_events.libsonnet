// Requests that count for an SLO, and the bad ones of them, over 5 m; longer windows are sums of these.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  // Every version, and the model over all of them.
  local subjects(expr, by='') = put(|||
    (
      <expr>
      or
      label_replace(sum by (%(model)s<by>) (<expr>), "version", "", "", "")
    )
  |||, { expr: expr, by: by });
  local indent(expr) = std.strReplace(text.trimmed(expr), '\n', '\n  ');

  // Availability: SLOs without a latency target. All rows carry the labels of their objective.
  local available(series) = put(|||
    ((slo:objective:ratio unless on (%(subject)s, slo) subject_slo:tritonobs_latency_target_seconds:held) * 0 + 1)
      * on (%(subject)s) group_left ()
    <subjects>
  |||, { subjects: subjects('avg_over_time(' + series + ':rate%(short)s[5m])') });

  // Latency: requests whose stage was timed at all, and those of them within the bound that the target names.
  local bucket = 'model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s';
  local timed(selector, match) = put(|||
    (subject_slo:tritonobs_latency_target_seconds:held * 0 + 1)
      * on (%(subject)s, <match>) group_left ()
    <subjects>
  |||, { match: match, subjects: subjects('avg_over_time(' + bucket + selector + '[5m])', ', stage, le') });
  local all = timed('{le="+Inf"}', 'stage');
  local within = timed('', 'stage, le');
  local of_objective(expr) = put(|||
    (slo:objective:ratio * 0 + 1)
      * on (%(subject)s, slo) group_left ()
    <expr>
  |||, { expr: expr });

  [
    text.record(
      'slo:sli_valid_requests:rate5m',
      text.all([
        available('model_version:triton_requests'),
        of_objective('(\n  ' + indent(all) + '\n)'),
      ])
    ),
    text.record(
      'slo:sli_bad_requests:rate5m',
      text.all([
        available('model_version:triton_requests_bad'),
        of_objective(put(|||
          clamp_min(
            (
            <all>
            )
            - on (%(subject)s, slo)
            (
            <within>
            ),
            0
          )
        |||, { all: indent(all), within: indent(within) })),
      ])
    ),
  ]
