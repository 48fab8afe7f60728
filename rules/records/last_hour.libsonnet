// What was usual in the hour before the last 5 m. It is much to read, and hardly moves within a minute.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local usual(record) =
    text.record(std.split(record, ':rate')[0] + ':mean1h', 'avg_over_time(' + record + '[%(span1h)s] offset %(span5m)s)');
  [
    usual('model_version_stage_reason:tritonobs_stage_errors:rate5m'),
    usual('model_version_reason:triton_requests_failed:rate%(short)s'),
    // What a quarter of the time exceeds, before the ten minutes in which traffic may have stopped.
    text.record('subject:triton_requests:p75_1h', |||
      quantile_over_time(
        0.75,
        subject:triton_requests:rate5m{model!="", version=""}[%(span1h)s] offset %(span10m)s
      )
    |||),
  ]
