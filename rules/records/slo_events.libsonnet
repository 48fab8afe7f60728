// Requests that count for an SLO, and the bad ones of them, since the evaluation before; all windows are sums of these.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local counts = import '../lib/counted.libsonnet';
  // Where that record is read at once, and by the Prometheus that has it, they stand in the record of what is read of
  // workers (timed.libsonnet).
  local counted(stage) = if config.recordsAtOnce && config.tier == 'all' then fit(|||
    sum by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo, stage, le) (
      worker_stage_le:tritonobs_stage_duration_seconds_bucket:last{bound="counted", %(stage)s}
    )
  |||, { stage: stage }) else counts.now(stage);
  // Availability: SLOs without a latency threshold, of every version, and of the model over all of them. All rows carry
  // the labels of their objective. `series` leaves out the caller's fault; SLOs that charge it count `with_invalid`.
  local available(series, with_invalid) =
    local of(which, series) = fit(|||
      (
        %(counted)s
          %(which)s on (%(subject)s, slo)
        subject_slo:tritonobs_slo_invalid_charged:held
      )
        * on (%(subject)s) group_left ()
      (
        %(series)s
        or
        sum by (%(model)s) (%(series)s)
      )
    |||, { which: which, series: series, counted: counted('stage=""') });
    text.all([of('unless', series), of('and', with_invalid)]);
  local invalid = import '../lib/invalid.libsonnet';
  local told_invalid = 'replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}';
  // Latency: by the bound that the threshold names.
  local by_bound(series) = fit(|||
    sum by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo) (
      %(counted)s
        * on (%(subject)s, stage, le) group_left ()
      (
        %(series)s
        or
        sum by (%(model)s, stage, le) (%(series)s)
      )
    )
  |||, { series: series, counted: counted('stage!=""') });
  [
    text.record('slo:sli_valid_requests:increase', text.all([
      available(fit(|||
        (
          model_version:triton_requests:increase
            - on (%(subject)s)
          %(invalid)s
          or
          model_version:triton_requests:increase
        )
      |||, { invalid: invalid }), 'model_version:triton_requests:increase'),
      by_bound('model_version_stage_le:tritonobs_requests_timed:increase' + text.late('sloInterval')),
    ])),
    text.record('slo:sli_bad_requests:increase', text.all([
      available('model_version:triton_requests_bad:increase', fit(|||
        sum by (%(subject)s) (
          replica_model_version_seen_by:triton_requests_bad:increase
          or
          %(told)s
          or
          model_version:triton_requests:increase * 0
        )
      |||, { told: told_invalid })),
      fit(|||
        (
          slo:sli_valid_requests:increase%(late)s
            -
          clamp_min(
            %(in_time)s,
            0
          )
        )
      |||, {
        late: text.late('sloInterval'),
        in_time: by_bound('model_version_stage_le:tritonobs_requests_in_time:increase' + text.late('sloFreshWindow')),
      }),
    ])),
  ]
