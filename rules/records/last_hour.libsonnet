// What was usual in the hour before the last 10 m: a surge is a mean of 5 m, and has lasted for 4 when it is told. It is
// much to read, and hardly moves within a minute.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local duration = import '../lib/duration.libsonnet';
  local shards = import '../lib/shards.libsonnet';
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
  ]
