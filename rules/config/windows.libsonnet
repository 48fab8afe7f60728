// Windows and intervals. All of them are computed by tritonobs/plan/windows.py and slo.py; nothing is derived here.
{
  _config+:: {
    // The scrape interval, in seconds; the other times follow from it.
    scrapeSeconds: 15,
    // Reads Triton's counters: 4 scrapes, at least 10 s. All longer windows are made of it.
    shortWindow: '1m',
    shortSeconds: 60,
    // Reads the stages' histograms: 1 m, or the short window where that is longer.
    mediumWindow: '1m',
    mediumSeconds: 60,
    // How often traffic and limits are evaluated: the time an overflow may stay unseen.
    evaluationInterval: '15s',
    // Stages are the many series; nobody needs their percentiles every second.
    stageInterval: '15s',
    // Error budgets; a sum of samples times their distance is a number of requests, hence the seconds.
    sloInterval: '30s',
    sloSeconds: 30,
    // One sample in 5 m is enough for windows of days, and ten times cheaper to sum.
    longInterval: '5m',
    longSeconds: 300,
    // Windows of hours and days change slowly; Prometheus forgets a value after 5 m, so not less often than half of
    // that.
    slowInterval: '2m',

    // The span an objective is promised over.
    sloPeriod: '30d',
    sloPeriodDays: 30,
    sloPeriodSeconds: 2592000,
    // Both windows of a tier must burn faster than its factor. The first is evaluated with the budgets, the others
    // at the slow interval.
    burnTiers: [
      { name: 'fast', severity: 'critical', long: '1h', short: '5m', factor: '14.4', wait: '2m' },
      { name: 'medium', severity: 'critical', long: '6h', short: '30m', factor: '6', wait: '15m' },
      { name: 'slow', severity: 'warning', long: '1d', short: '2h', factor: '3', wait: '1h' },
      { name: 'long', severity: 'warning', long: '3d', short: '6h', factor: '1', wait: '3h' },
    ],
  },
}
