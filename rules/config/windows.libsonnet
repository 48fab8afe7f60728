// Windows and intervals. Set the first four; the others are computed from them here, and a value that contradicts them is an
// error. Python reads them from here.
local duration = import '../lib/duration.libsonnet';
// Scrapes in a short window. `rate` needs two samples, and four leave enough when a scrape is lost.
local scrapes = 4;
{
  _config+:: {
    local config = self,
    // Prometheus's scrape interval for Triton, in seconds. Most other times follow from it.
    scrapeSeconds: 15,
    // The evaluation interval of traffic and limits: an overflow can go unnoticed for that long.
    evaluationInterval: duration.text(config.scrapeSeconds),
    // The period of every objective.
    sloPeriod: '30d',
    // A rehearsal runs the rules this many times faster: it divides waits, intervals, and windows of two minutes and more.
    // The names of records keep the undivided window.
    speed: 1,

    // The window for `rate` over Triton's counters: 4 scrapes, at least 10 s. Longer windows average records of this one.
    shortWindow: duration.text(std.max(10, scrapes * config.scrapeSeconds)),
    shortSeconds: duration.seconds(config.shortWindow),
    // The window for the histograms of stages: 1 m, or the short window if that is longer.
    mediumWindow: duration.text(std.max(60, config.shortSeconds)),
    mediumSeconds: duration.seconds(config.mediumWindow),
    // Offsets that read a record one scrape and two scrapes before the latest one. A ruler that writes late shows the
    // previous evaluation where no offset is given, so its offsets are one step longer.
    local read = if config.recordsAtOnce then 0 else 1,
    stepBefore: duration.text((read + 1) * stepSeconds),
    stepsBefore: duration.text((read + 2) * stepSeconds),
    local evaluationSeconds = duration.seconds(config.evaluationInterval),
    evaluationSeconds: evaluationSeconds,
    // The distance between two samples that differ in a record.
    local stepSeconds = std.max(config.scrapeSeconds, evaluationSeconds),
    // How long a smaller excess of a limit must last, measured by a mean over a medium window. Both together are 150 s.
    sustainedSeconds: std.max(2 * stepSeconds, 150 - config.mediumSeconds),
    sustained: duration.text(config.sustainedSeconds),
    // Longer than two bursts of some seconds in a row: five consecutive scrapes.
    bursts: duration.text(std.max(30, 4 * stepSeconds)),
    // The distance at which two short windows have no scrape in common.
    breathApart: duration.text(std.max(90, config.shortSeconds + config.scrapeSeconds)),
    // How long a warning about traffic near its limit is remembered.
    limitNearHeld: duration.text(std.max(60, std.ceil(duration.seconds(config.limitNearKept) / config.speed))),
    // The `for` of TritonServerDown: four failed scrapes, at least 30 s. One failed scrape in a hundred is normal.
    serverDownFor: duration.text(std.max(30, (scrapes - 1) * config.scrapeSeconds)),
    // A target whose last sample is older than this sends no samples any more: three scrapes, at least 30 s for delayed
    // writes. Prometheus shows the last value for five minutes, its lookback.
    freshWindow: duration.text(std.max(30, 3 * config.scrapeSeconds)),
    // The `for` of TritonServersLost: two steps, within which a restarted Prometheus has scraped every target.
    serversLostFor: duration.text(std.max(15, 2 * stepSeconds)),
    // An outage is this number of consecutive evaluations with the server down, so that it begins when `for` has passed.
    outageSamples: std.ceil(duration.seconds(config.serverDownFor) / evaluationSeconds) + 1,
    outageWindow: duration.text(config.outageSamples * evaluationSeconds - 0.001),
    // Two replicas whose metrics are equal at two evaluations within this window (the alert asks for three) are one server.
    twinWindow: duration.text(std.max(4 * stepSeconds, std.max(60, std.ceil(120 / config.speed)))),
    // The scrape before the latest two.
    twoScrapes: duration.text(2 * config.scrapeSeconds),
    // How long a server is considered to be catching up after it hung: two minutes. One scrape interval is subtracted,
    // because a server counts as unreachable until its second answer.
    returnWindow: duration.text(std.max(60, std.ceil(120 / config.speed) - config.scrapeSeconds)),

    // An interval divided by `speed`, but at least two scrape intervals, or the undivided value if that is shorter.
    local interval(seconds) =
      duration.text(std.max(std.ceil(seconds / config.speed), std.min(seconds, 2 * config.scrapeSeconds))),
    // Stages are most of the series, and their means and percentiles cover 5 m, so once a minute is enough. The same holds
    // for alerts that wait for minutes.
    stageInterval: interval(std.max(60, evaluationSeconds)),
    // Records about models and workers that no page within seconds reads, and alerts that wait for half a minute or more.
    modelInterval: interval(std.max(30, evaluationSeconds)),
    // The rates of bursts that were recorded within that interval: a burst is recorded up to one evaluation later.
    spikeWindow: duration.text(duration.seconds(config.modelInterval) + evaluationSeconds),
    // Gauges of inference engines show one moment. A cache that is full for some seconds must be seen, hence 15 s.
    gaugeInterval: interval(std.max(15, evaluationSeconds)),
    // Error budgets: sums of the increases of counters since the previous evaluation.
    sloInterval: interval(std.max(30, evaluationSeconds)),
    sloSeconds: duration.seconds(config.sloInterval),
    sloFreshWindow: duration.text(2 * duration.seconds(config.sloInterval)),
    sloSampleWindow: duration.text(duration.seconds(config.sloInterval) - 0.001),
    // How long after it was asked a page has been read and written. Where records come late, all rules wait for that.
    writtenAfter: '5s',
    writtenBefore: duration.text(duration.seconds(config.sloInterval) + duration.seconds(config.writtenAfter)),
    // The delay with which the global tier reads increases of shards: time for an evaluation, a federation request, and one
    // that is lost.
    shardDelay: duration.text(std.max(15, evaluationSeconds)),
    // Windows of hours and days change slowly. Prometheus forgets a value after 5 m, so the interval is at most half of
    // that. Sums use a window 1 ms shorter than the interval, so that it holds each sample once, in Prometheus 2 as well,
    // whose ranges include both ends.
    slowInterval: interval(120),
    slowFreshWindow: duration.text(2 * duration.seconds(config.slowInterval)),
    slowSampleWindow: duration.text(duration.seconds(config.slowInterval) - 0.001),
    // Burns over hours are evaluated twice as often as their windows, because a rule waits for up to one interval of each
    // group.
    burnInterval: interval(std.max(60, evaluationSeconds)),
    burnFreshWindow: duration.text(2 * duration.seconds(config.burnInterval)),
    burnSampleWindow: duration.text(duration.seconds(config.burnInterval) - 0.001),
    // One sample in 5 m is enough for the window of a whole period, and cheaper to sum.
    longInterval: interval(300),
    // The ratio of a whole period reads many samples and changes slowly. 4 m is still below the 5 m lookback.
    periodInterval: interval(240),
    longSampleWindow: duration.text(duration.seconds(config.longInterval) - 0.001),
    // The longest gap without a successful scrape over which increases of counters are computed; the same plus and minus one
    // interval.
    gapWindow: duration.text(std.max(std.ceil(3600 / config.speed), 2 * duration.seconds(config.sloInterval))),
    gapHeldWindow: duration.text(duration.seconds(config.gapWindow) + duration.seconds(config.sloInterval)),
    gapKnownWindow: duration.text(duration.seconds(config.gapWindow) - duration.seconds(config.sloInterval)),

    // The longest delay between Triton's count of a request and the model's count of its outcome: models flush every half
    // scrape interval, at most 5 s, plus 1 s.
    lateSeconds: std.min(5, std.max(0.5, config.scrapeSeconds / 2)) + 1,

    sloPeriodSeconds: duration.seconds(config.sloPeriod),
    sloPeriodDays: config.sloPeriodSeconds / 86400,
    // A tier fires when both windows, `long` and `short`, burn faster than a rate that spends `share` of the budget within
    // `long`. A burn that began twice within `lately` also lasts until the window `again` is calm. For `memory` after a burn of
    // the model, one of its versions alone is not reported. The SLO must be at least `age` old: what faster tiers leave to a slow
    // one needs that time to spend its share. The alert lasts for `keep` longer, because chance moves a ratio under its
    // threshold and back. Three pairs are those of the SRE workbook, chapter 5; the fourth is ours. The first tier is evaluated
    // in the group of the error budgets.
    burnTiers: [
      { name: 'fast', severity: 'critical', long: '1h', short: '5m', share: 0.02, again: '1h', memory: '30m', lately: '6h', age: '', keep: '' },
      { name: 'medium', severity: 'critical', long: '6h', short: '30m', share: 0.05, again: '2h', memory: '2h', lately: '1d', age: '', keep: '' },
      { name: 'slow', severity: 'warning', long: '1d', short: '2h', share: 0.1, again: '6h', memory: '6h', lately: '3d', age: '12h', keep: '20m' },
      { name: 'long', severity: 'warning', long: '3d', short: '6h', share: 0.1, again: '1d', memory: '1d', lately: '7d', age: '1d', keep: '1h' },
    ],

    local follows(name, from) =
      '%s is %s, but follows from %s, which is %s: leave %s out' %
      [name, std.toString(config[name]), from, std.toString(config[from]), name],
    assert config.speed >= 1 : 'speed is %s; allowed is a number from 1' % std.toString(config.speed),
    assert config.shortSeconds == duration.seconds(config.shortWindow) : follows('shortSeconds', 'shortWindow'),
    assert config.mediumSeconds == duration.seconds(config.mediumWindow) : follows('mediumSeconds', 'mediumWindow'),
    assert config.shortSeconds >= scrapes * config.scrapeSeconds :
           'shortWindow is %s; with a scrape every %s s, allowed is %s and more' %
           [config.shortWindow, std.toString(config.scrapeSeconds), duration.text(scrapes * config.scrapeSeconds)],
    assert config.mediumSeconds >= config.shortSeconds :
           'mediumWindow is %s, shorter than shortWindow (%s)' % [config.mediumWindow, config.shortWindow],
    assert config.sloPeriodSeconds == duration.seconds(config.sloPeriod) : follows('sloPeriodSeconds', 'sloPeriod'),
    assert config.sloPeriodDays * 86400 == config.sloPeriodSeconds : follows('sloPeriodDays', 'sloPeriod'),
    assert config.sloPeriodDays == std.floor(config.sloPeriodDays) && config.sloPeriodDays >= 7 && config.sloPeriodDays <= 90 :
           'sloPeriod is %s; allowed are whole days from 7d to 90d' % config.sloPeriod,
    assert std.length(std.findSubstr('d', config.sloPeriod)) == 1 : 'sloPeriod is %s; write days, like 30d' % config.sloPeriod,
  },
}
