// The share of bad requests over every window. Numerator and denominator are summed apart, so that busy hours weigh
// as much as they should and an idle night counts for nothing.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local bad_in(window, samples) =
    fit('sum_over_time(slo:sli_bad_requests:%(samples)s[%(window)s])', { window: text.span(window), samples: samples });
  local ratio(window, samples, bad) =
    text.record('slo:sli_error:ratio_rate' + window, fit(|||
      %(bad)s
        /
      (sum_over_time(slo:sli_valid_requests:%(samples)s[%(window)s]) > 0)
    |||, { window: text.span(window), samples: samples, bad: bad }), { sloth_window: window });
  local share(window, samples) = ratio(window, samples, bad_in(window, samples));
  // Where alerts ask for the number of bad requests, too, it is read once for both.
  local counted(window, samples) =
    local sum = 'slo:sli_bad_requests:sum' + window;
    [text.record(sum, bad_in(window, samples)), ratio(window, samples, sum)];
  // (Alerts whose records come late read the samples themselves.)
  local at_once(window, samples) = if config.recordsAtOnce then counted(window, samples) else [share(window, samples)];
  // Fewer samples to sum: each stands for all that came since the one before. (What is written after this was evaluated
  // would be in no window.)
  local sampled(name, samples, window) = text.record(
    'slo:' + name + ':' + samples,
    'sum_over_time(slo:' + name + ':increase[' + window + ']' + text.settled + ')'
  );
  local both(samples, window) = [
    sampled(name, samples, window)
    for name in ['sli_valid_requests', 'sli_bad_requests']
  ];
  {
    // The page that must come soonest depends on these.
    recent: [share('5m', 'increase')] + counted('1h', 'increase'),
    // These move slowly and cost most.
    slow: both('sampled', '%(slowSampleWindow)s') + [
            sampled('sli_bad_samples', 'sampled', '%(slowSampleWindow)s'),
          ] + at_once('30m', 'increase') + at_once('2h', 'sampled') +
          counted('6h', 'sampled') + counted('1d', 'sampled') + counted('3d', 'sampled'),
    // Of the period, one sample in 5 m is enough.
    sampled: both('rarely_sampled', '%(longSampleWindow)s'),
    period: counted(config.sloPeriod, 'rarely_sampled'),
  }
