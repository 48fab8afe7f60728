// Windows and intervals. Set the first four; what follows from them is computed here, and what contradicts them is an
// error. plan/rules.py and plan/slo.py compute the same for Python's queries (a test compares).
local duration = import '../lib/duration.libsonnet';
// Scrapes in a window: with fewer, one lost scrape leaves `rate` nothing to compare.
local scrapes = 4;
{
  _config+:: {
    local config = self,
    // How often Prometheus scrapes Triton, in seconds; most other times follow from it.
    scrapeSeconds: 15,
    // How often traffic and limits are evaluated: the time an overflow may stay unseen.
    evaluationInterval: duration.text(config.scrapeSeconds),
    // The span an objective is promised over.
    sloPeriod: '30d',
    // A rehearsal runs the rules so many times as fast: waits, intervals, and windows of two minutes and more are
    // divided. Names keep the window they are written with.
    speed: 1,

    // Reads Triton's counters: 4 scrapes, at least 10 s. All longer windows are made of it.
    shortWindow: duration.text(std.max(10, scrapes * config.scrapeSeconds)),
    shortSeconds: duration.seconds(config.shortWindow),
    // Reads the stages' histograms: 1 m, or the short window where that is longer.
    mediumWindow: duration.text(std.max(60, config.shortSeconds)),
    mediumSeconds: duration.seconds(config.mediumWindow),
    // How far apart two scrapes are that the rules have seen, and three: the longer of scrape and evaluation.
    step: duration.text(stepSeconds),
    steps: duration.text(2 * stepSeconds),
    // How old records are that stand for one scrape and for two before the one that a rule reads without an offset.
    local read = if config.recordsAtOnce then 0 else 1,
    stepBefore: duration.text((read + 1) * stepSeconds),
    stepsBefore: duration.text((read + 2) * stepSeconds),
    local evaluationSeconds = duration.seconds(config.evaluationInterval),
    evaluationSeconds: evaluationSeconds,
    local stepSeconds = std.max(config.scrapeSeconds, evaluationSeconds),
    // So long must a smaller excess last, as a mean of a medium window: two and a half minutes with that.
    sustainedSeconds: std.max(2 * stepSeconds, 150 - config.mediumSeconds),
    sustained: duration.text(config.sustainedSeconds),
    // So long does more than two bursts of seconds last: five scrapes see it all the time.
    bursts: duration.text(std.max(30, 4 * stepSeconds)),
    // Two short windows so far apart share no scrape.
    breathApart: duration.text(std.max(90, config.shortSeconds + config.scrapeSeconds)),
    // So long a warning before a limit is remembered.
    limitNearHeld: duration.text(std.max(60, std.ceil(duration.seconds(config.limitNearKept) / config.speed))),
    // A server is down after four scrapes that failed, and not before half a minute: one scrape in a hundred is lost
    // where nothing is wrong.
    serverDownFor: duration.text(std.max(30, (scrapes - 1) * config.scrapeSeconds)),
    // Older than three scrapes, and than what samples need on their way: no one sends samples of this target any more,
    // whatever Prometheus goes on showing of it for five minutes.
    freshWindow: duration.text(std.max(30, 3 * config.scrapeSeconds)),
    // A Prometheus that starts has read every page after one scrape.
    serversLostFor: duration.text(std.max(15, 2 * stepSeconds)),
    // An outage is so many evaluations at which it was down: the alert has waited by then.
    outageSamples: std.ceil(duration.seconds(config.serverDownFor) / evaluationSeconds) + 1,
    outageWindow: duration.text(config.outageSamples * evaluationSeconds - 0.001),
    // Pages that were the same at two moments in this time, or three, are those of one server.
    twinWindow: duration.text(std.max(4 * stepSeconds, std.max(60, std.ceil(120 / config.speed)))),
    // So long does a server that hung catch up with what came meanwhile.
    // It counts as unreachable until its second answer, a scrape after its first.
    returnWindow: duration.text(std.max(60, std.ceil(120 / config.speed) - config.scrapeSeconds)),

    // An interval on the clock of a rehearsal: not shorter than two scrapes, unless it was.
    local interval(seconds) =
      duration.text(std.max(std.ceil(seconds / config.speed), std.min(seconds, 2 * config.scrapeSeconds))),
    // Stages are the many series, and their means and percentiles are of 5 m; so are most alerts that wait for minutes.
    stageInterval: interval(std.max(60, evaluationSeconds)),
    // Engines' gauges tell of one moment: a cache that is full now and then must be seen.
    gaugeInterval: interval(std.max(15, evaluationSeconds)),
    // Error budgets: sums of what counters grew by since the evaluation before.
    sloInterval: interval(std.max(30, evaluationSeconds)),
    sloSeconds: duration.seconds(config.sloInterval),
    sloFreshWindow: duration.text(2 * duration.seconds(config.sloInterval)),
    sloSampleWindow: duration.text(duration.seconds(config.sloInterval) - 0.001),
    // So late is what grew read from shards: evaluated, asked for and lost once until then.
    shardDelay: duration.text(std.max(15, evaluationSeconds)),
    // Windows of hours and days change slowly; Prometheus forgets a value after 5 m, so not less often than half of
    // that. They are sums of samples that stand for one interval each: a window of it that holds one of every moment,
    // in Prometheus 2, too, which counts the very first.
    slowInterval: interval(120),
    slowFreshWindow: duration.text(2 * duration.seconds(config.slowInterval)),
    slowSampleWindow: duration.text(duration.seconds(config.slowInterval) - 0.001),
    // Burns of hours are judged more often than the windows they are of: the sooner of two groups waits for the other.
    burnInterval: interval(std.max(60, evaluationSeconds)),
    burnFreshWindow: duration.text(2 * duration.seconds(config.burnInterval)),
    burnSampleWindow: duration.text(duration.seconds(config.burnInterval) - 0.001),
    // One sample in 5 m is enough for the window of a month, and cheaper to sum.
    longInterval: interval(300),
    // Of a whole period a minute is little, and it is much to read.
    periodInterval: interval(240),
    longSampleWindow: duration.text(duration.seconds(config.longInterval) - 0.001),
    // The longest time without a successful scrape across which counters are followed; the same and one interval more,
    // and one less.
    gapWindow: duration.text(std.max(std.ceil(3600 / config.speed), 2 * duration.seconds(config.sloInterval))),
    gapHeldWindow: duration.text(duration.seconds(config.gapWindow) + duration.seconds(config.sloInterval)),
    gapKnownWindow: duration.text(duration.seconds(config.gapWindow) - duration.seconds(config.sloInterval)),

    // So long after Triton models may tell how a request ended: they hand over every half scrape interval, at least every
    // 5 s, and take a moment.
    lateSeconds: std.min(5, std.max(0.5, config.scrapeSeconds / 2)) + 1,

    sloPeriodSeconds: duration.seconds(config.sloPeriod),
    sloPeriodDays: config.sloPeriodSeconds / 86400,
    // Both windows of a tier must burn faster than what spends `share` of the budget in the long one. The first tier is
    // evaluated with the budgets. One that begins twice `lately` lasts until a longer window is calm, too (`again`). An
    // SLO must be of some `age` for the slower ones: no burn that faster tiers leave to them is sooner. The
    // pairs are those of the SRE workbook, chapter 5, and a fourth.
    burnTiers: [
      { name: 'fast', severity: 'critical', long: '1h', short: '5m', share: 0.02, again: '30m', lately: '6h', age: '' },
      { name: 'medium', severity: 'critical', long: '6h', short: '30m', share: 0.05, again: '2h', lately: '1d', age: '' },
      { name: 'slow', severity: 'warning', long: '1d', short: '2h', share: 0.1, again: '6h', lately: '3d', age: '12h' },
      { name: 'long', severity: 'warning', long: '3d', short: '6h', share: 0.1, again: '1d', lately: '7d', age: '1d' },
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
