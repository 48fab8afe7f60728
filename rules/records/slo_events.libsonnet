// Requests that count for an SLO, and the bad ones of them, over 5 m; longer windows are sums of these.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  // Every version, and the model over all of them.
  local subjects(expr, by='') = |||
    (
      %(expr)s
      or
      label_replace(sum by (%%(model)s%(by)s) (%(expr)s), "version", "", "", "")
    )
  ||| % { expr: expr, by: by };
  local indent(expr) = std.strReplace(std.stripChars(expr, '\n'), '\n', '\n  ');

  // Availability: SLOs without a latency target. All rows carry the labels of their objective.
  local available(series) = |||
    ((slo:objective:ratio unless on (%%(subject)s, slo) subject_slo:tritonobs_latency_target_seconds:held) * 0 + 1)
      * on (%%(subject)s) group_left ()
    %s
  ||| % subjects('avg_over_time(%s:rate%%(short)s[5m])' % series);

  // Latency: requests whose stage was timed at all, and those of them within the bound that the target names.
  local bucket = 'model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s';
  local timed(selector, match) = |||
    (subject_slo:tritonobs_latency_target_seconds:held * 0 + 1)
      * on (%%(subject)s, %s) group_left ()
    %s
  ||| % [match, subjects('avg_over_time(%s%s[5m])' % [bucket, selector], ', stage, le')];
  local all = timed('{le="+Inf"}', 'stage');
  local within = timed('', 'stage, le');
  local of_objective(expr) = |||
    (slo:objective:ratio * 0 + 1)
      * on (%%(subject)s, slo) group_left ()
    %s
  ||| % expr;

  [
    text.record(
      'slo:sli_valid_requests:rate5m',
      text.all([
        available('model_version:triton_requests'),
        of_objective('(\n  %s\n)' % indent(all)),
      ])
    ),
    text.record(
      'slo:sli_bad_requests:rate5m',
      text.all([
        available('model_version:triton_requests_bad'),
        of_objective('clamp_min(\n  (\n  %s\n  )\n  - on (%%(subject)s, slo)\n  (\n  %s\n  ),\n  0\n)' % [
          indent(all),
          indent(within),
        ]),
      ])
    ),
  ]
