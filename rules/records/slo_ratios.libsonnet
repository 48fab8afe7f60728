// The share of bad requests over every window. Numerator and denominator are summed apart, so that busy hours weigh
// as much as they should and an idle night counts for nothing.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local share(window, rate) =
    text.record('slo:sli_error:ratio_rate' + window, put(|||
      sum_over_time(slo:sli_bad_requests:<rate>[<window>])
        /
      (sum_over_time(slo:sli_valid_requests:<rate>[<window>]) > 0)
    |||, { window: window, rate: rate }), { sloth_window: window });
  local sampled(name) =
    text.record('slo:' + name + ':rate5m_sampled', 'avg_over_time(slo:' + name + ':rate5m[5m])');
  {
    // The page that must come soonest depends on these.
    recent: [
      text.record('slo:sli_error:ratio_rate5m', |||
        slo:sli_bad_requests:rate5m
          /
        (slo:sli_valid_requests:rate5m > 0)
      |||, { sloth_window: '5m' }),
    ] + [share('1h', 'rate5m')],
    // Read by all longer windows, and only through ranges: between two samples there is no value.
    sampled: [
      sampled('sli_valid_requests'),
      sampled('sli_bad_requests'),
    ],
    // These move slowly and cost most: one sample in 5 m is enough for hours and days.
    slow: [share('30m', 'rate5m')] + [
      share(window, 'rate5m_sampled')
      for window in ['2h', '6h', '1d', '3d', config.sloPeriod]
    ],
  }
