// Limits and objectives as the other rules read them, and what was usual.
local duration = import '../lib/duration.libsonnet';
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';

// What is held for an hour when every source of it is gone, by its record: the series, and how its rows become one for
// each subject. More than one row (two sources, one of them not up to date) would make every join with it fail.
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
    // SLOs of availability that charge the caller's fault, too.
    'subject_slo:tritonobs_slo_invalid_charged': { series: 'tritonobs_slo_invalid_charged', by: '%(subject)s, slo' },
    'subject_slo:tritonobs_slo_objective': { series: 'tritonobs_slo_objective_ratio', by: '%(subject)s, slo' },
  };

// Rows of sources as joins need them, and how they are held: what they were within the last hour is read seldom, for an
// hour of every source is much to read, and counts only while no source is left.
local hold =
  local rows(one, series) =
    local named = std.get(one, 'how', 'max') + ' by (' + one.by + ') (' + series + ')';
    if std.objectHas(one, 'keep') then 'topk by (' + one.keep + ') (1, ' + named + ')' else named;
  {
    last_hour(one):: rows(one, 'last_over_time(' + one.series + '[%(span1h)s])'),

    held(name, one):: fit(|||
      %(now)s
      or
      (
        %(name)s:last_hour
          unless on (%(cluster)s)
        group by (%(cluster)s) (tritonobs_model_info)
      )
    |||, { now: rows(one, one.series), name: name }),
  };

// Limits and objectives as the other rules read them: aggregated over their sources, and held for an hour when every
// source is gone. A row taken back while a source is there is gone at once. `version=""` is a model over all its
// versions, `model=""` the fleet.
local objectives =
  function(config)
    local text = (import '../lib/text.libsonnet')(config);
    local counts = (import '../lib/counters.libsonnet').counted;
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
    };

// What was usual in the hour before the last 10 m: a surge is a mean of 5 m, and has lasted for 4 when it is told. It is
// much to read, and hardly moves within a minute.
local usual =
  function(config)
    local text = (import '../lib/text.libsonnet')(config);
    local counted = 'replica:triton_requests_succeeded:sum';
    local usual(record) =
      text.record(std.split(record, ':rate')[0] + ':mean1h', 'avg_over_time(' + record + '[%(span1h)s] offset %(span10m)s)');
    [
      usual('model_version_stage_reason:tritonobs_stage_errors:rate5m'),
      // Input that was refused, of a whole day: where nothing was recorded, nothing was. (One reason may have been called
      // the model's own fault before.)
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
      // What a quarter of the time exceeds, before the ten minutes in which traffic may have stopped.
      text.record('subject:triton_requests:p75_1h', |||
        quantile_over_time(
          0.75,
          subject:triton_requests:rate5m{model!="", version=""}[%(span1h)s] offset %(span10m)s
        )
      |||),
      // What a server had counted when it was read again after more than the time across which counters are followed, less
      // what it had before, within a day. One that started again meanwhile has counted at least what it shows.
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
