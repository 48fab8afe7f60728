// Limits and objectives as other rules read them, and the usual rates that surges are compared with.
local duration = import '../lib/duration.libsonnet';
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';

// The sources that are held for an hour when all of them are gone, by the name of their record: the series, and the labels
// that identify a row. Two sources may have different values for a moment, and two rows for one subject would make every
// join fail, so `how` merges them (default `max`), and `keep` leaves one row for these labels.
local sources =
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
    // Availability SLOs that charge invalid requests, too.
    'subject_slo:tritonobs_slo_invalid_charged': { series: 'tritonobs_slo_invalid_charged', by: '%(subject)s, slo' },
    'subject_slo:tritonobs_slo_objective': { series: 'tritonobs_slo_objective_ratio', by: '%(subject)s, slo' },
  };

// Rows of the sources now, and their last value within an hour. The latter is recorded every 2 m, because an hour of every
// source is much to read, and is used only in a cluster where no source is left.
local hold =
  local rows(one, series) =
    local named = std.get(one, 'how', 'max') + ' by (' + one.by + ') (' + series + ')';
    if std.objectHas(one, 'keep') then 'topk by (' + one.keep + ') (1, ' + named + ')' else named;
  {
    last_hour(one):: rows(one, 'last_over_time(' + one.series + '[%(span1h)s])'),

    // `shown` has a row for each cluster with a source.
    held(name, one, shown):: fit(|||
      %(now)s
      or
      (
        %(name)s:last_hour
          unless on (%(cluster)s)
        %(shown)s
      )
    |||, { now: rows(one, one.series), name: name, shown: shown }),
    shown:: 'group by (%(cluster)s) (tritonobs_model_info)',
  };

// The records of limits and objectives. A row that is removed while its source exists ends at once. `version=""` is a model
// over all versions, `model=""` the fleet.
local objectives =
  function(config)
    local text = (import '../lib/text.libsonnet')(config);
    local counts = (import '../lib/counters.libsonnet').counted;
    local held(name, shown=hold.shown) = hold.held(name, sources[name], shown);
    local recorded(name, shown=hold.shown) = text.record(name + ':held', held(name, shown));
    // In the group `objectives`, the clusters with a source are recorded once for all.
    local shown = 'cluster:tritonobs_model_info:shown';
    local at_once(name) = recorded(name, if config.recordsAtOnce then shown else hold.shown);
    local targets = 'subject_slo:tritonobs_latency_target_seconds:held';
    {
      last_hour: [
        text.record(name + ':last_hour', hold.last_hour(sources[name]))
        for name in std.objectFields(sources)
      ] + [
        // Its value is when the SLO was so: after a change of the threshold, the latest holds.
        text.record(counts.kept_slos, 'timestamp(' + counts.slos + ')'),
        text.record(counts.kept_bounds, counts.bounds),
      ],
      // The inputs of limits, which act within seconds.
      limits: (if config.recordsAtOnce then [text.record(shown, hold.shown)] else []) + [
        at_once('subject:tritonobs_qps_limit'),
        at_once('subject_kind:tritonobs_tokens_per_second_limit'),
        at_once('pipeline_stage_model:tritonobs_pipeline_calls'),
      ],
      // What models are, and whose.
      owners: [
        recorded('subject:tritonobs_model_info'),
        // The owner of every subject, exactly one row each, so that joins neither fail nor lose rows. Labels are empty for
        // subjects that the fleet file does not name.
        text.record('subject:tritonobs_owner:info', |||
          subject:tritonobs_model_info:held
          or on (%(subject)s)
          group by (%(subject)s) (subject:triton_requests:rate%(short)s)
          or on (%(subject)s)
          group by (%(subject)s) (slo:objective:ratio)
        |||),
      ],
      // The inputs of error budgets, and records that depend on them alone.
      promises: [
        recorded('subject_slo:tritonobs_latency_target_seconds'),
        recorded('subject_slo:tritonobs_slo_invalid_charged'),
        // With the labels that Sloth's boards select by: the service is the model, and "latency-v2" is its SLO for version
        // 2.
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
        // A burn slower than the smallest budget of the cluster allows is dropped before the join with each budget.
        text.record('cluster:slo_error_budget:min', 'min by (%(cluster)s) (slo:error_budget:ratio)'),
        // The bounds that latency thresholds name, and +Inf. Prometheus 3 writes 1.0 where other versions write 1, so both
        // are here.
        text.record('model_stage_le:tritonobs_latency_bound:info', fit(|||
          group by (%(model)s, stage, le) (%(targets)s)
          or
          group by (%(model)s, stage, le) (label_replace(%(targets)s, "le", "+Inf", "", ""))
          or
          group by (%(model)s, stage, le) (label_replace(%(targets)s, "le", "$1.0", "le", "([0-9]+)"))
        |||, { targets: targets })),
        // 1 for each SLO, with the stage and bound of its latency threshold. SLOs without one count all requests.
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
    };

// The usual rates: the mean of the hour that ended 10 m ago. A surge is a mean of 5 m and has lasted 4 m when it is
// reported, so it must not be in the hour itself. They are recorded every 2 m, because they read a lot and hardly change.
local usual =
  function(config)
    local text = (import '../lib/text.libsonnet')(config);
    local counted = 'replica:triton_requests_succeeded:sum';
    local usual(record) =
      text.record(std.split(record, ':rate')[0] + ':mean1h', 'avg_over_time(' + record + '[%(span1h)s] offset %(span10m)s)');
    [
      usual('model_version_stage_reason:tritonobs_stage_errors:rate5m'),
      // Refused input, the mean of a day: the sum times the interval, because there is no sample while no error occurs. It
      // sums the outcomes, because a reason may have been reported as the model's own error before.
      text.record('model_version_stage_reason:tritonobs_stage_invalid:mean1d', fit(|||
        label_replace(
          sum by (%(subject)s, stage, reason) (
            sum_over_time(model_version_stage_reason:tritonobs_stage_errors:rate5m[%(span1d)s] offset %(span5m)s)
          ),
          "outcome", "invalid", "", ""
        )
          * %(every)s / %(seconds1d)s
      |||, { every: std.toString(duration.seconds(config.stageInterval)) })),
      usual('model_version_reason:triton_requests_failed:rate%(short)s'),
      // The 75th percentile of the hour before the ten minutes in which traffic may have stopped.
      text.record('subject:triton_requests:p75_1h', |||
        quantile_over_time(
          0.75,
          subject:triton_requests:rate5m{model!="", version=""}[%(span1h)s] offset %(span10m)s
        )
      |||),
      // Requests that were not counted: the count of a server that was read again after a gap longer than increases are
      // computed over, minus its count before the gap, within a day. A server that restarted meanwhile has counted at least
      // the value it shows.
      text.record('replica:triton_requests_uncounted:sum', fit(|||
        (
          (
            %(again)s
              - on (%(replica_only)s)
            %(before)s
          ) > 0
        )
        or on (%(replica_only)s)
        (
          %(again)s
            < on (%(replica_only)s)
          %(before)s
        ) > 0
      |||, {
        again: fit(|||
          (
            min_over_time(%(counted)s[%(span10m)s])
              unless on (%(replica_only)s)
            count_over_time(%(counted)s[%(gapWindow)s] offset %(span10m)s)
          )
        |||, { counted: counted }),
        before: 'last_over_time(' + counted + '[%(span1d)s:1m] offset %(span10m)s)',
      })) + shards.max,
    ];
function(config) { held: objectives(config), usual: usual(config) }
