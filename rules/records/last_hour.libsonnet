// What was usual in the hour before the last 5 m. It is much to read, and hardly moves within a minute.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local duration = import '../lib/duration.libsonnet';
  local usual(record) =
    text.record(std.split(record, ':rate')[0] + ':mean1h', 'avg_over_time(' + record + '[%(span1h)s] offset %(span5m)s)');
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
  ]
