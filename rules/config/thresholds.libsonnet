// What counts as too much. Every number is a choice; its reason stands above it.
{
  _config+:: {
    // Share of a limit at which we warn, while there is still time.
    limitWarningRatio: 0.8,
    // Requests come at random: in a short window a rate of 8 reads 12 now and then. A limit counts as exceeded by more
    // than so many standard deviations of such chance, and a fifth of their square in requests more, because chance has
    // a longer tail where few are expected. Windows of 5 m and more pass by seldom enough for less. At 95 % of any limit
    // all windows together are exceeded by chance less than once in twenty days.
    limitNoise: 4.5,
    limitNoiseLong: 4,
    // Traffic breathes more than chance does. Far above the limit pages at once: so many times of it within seconds. A
    // smaller excess must last for two and a half minutes, one smaller still for nine, or a quarter of an hour. Where the
    // traffic of the last half day breathed much, it must also get further than such traffic does that stays 15 %
    // below its limit: so many times that far. All five were chosen by months of simulated traffic (bench/uneven.py).
    limitAtOnceRatio: 1.5,
    limitSoonRatio: 1.1,
    limitLastingRatio: 1.05,
    limitLongRatio: 1.03,
    limitBase: 0.85,
    limitBreath: 1,
    // Keeps an alert up through the dips of bursty traffic: one message, not ten.
    limitKeepFiring: '1m',
    // Traffic around the share at which we warn is there again and again. The warning stays for so long, so that whatever
    // the traffic does it begins less than twice a day, and ends when no 5 m of an hour were above this share of it.
    limitNearKept: '6h',
    limitLeftRatio: 0.9,
    // A burst between two scrapes: this much above the limit, and more than the chance above explains.
    spikeRatio: 1.5,
    // Bursts come again: those of half an hour are one alert.
    spikeKeepFiring: '30m',
    forecastKeepFiring: '5m',
    // How far ahead we look, the share of the limit below which growth is nobody's worry, and by how many standard
    // deviations of chance it must have grown.
    forecastSeconds: 3600,
    forecastFloorRatio: 0.5,
    forecastNoise: 4,
    // Traffic below this share of the same time yesterday and last week, where it was at least so much then.
    dropRatio: 0.5,
    dropFloor: 0.5,
    // Silence is telling only where at least this many requests were to be expected in it: chance gives 1 in 10^8.
    silenceRequests: 20,

    // Requests that wait longer than this for a model instance, on average, need more of them or larger batches.
    queueSeconds: 0.1,
    // Instances that work nine tenths of the time have no room for a burst.
    busyRatio: 0.9,
    // More than one request waits all the time, yet an execution takes fewer than this.
    waitingRequests: 1,
    requestsPerExecution: 1.5,
    // A single stage that needs this much of the target for the whole request leaves the others nothing.
    stageBudgetRatio: 0.8,
    // A replica this many times slower than the others together, judged by at least so many requests in 5 m.
    skewRatio: 2,
    skewRequests: 20,
    // A reason this many times as frequent as in the last hour, from so many errors in 5 m on.
    surgeRatio: 3,
    surgeErrors: 5,
    // And above the usual number by so many standard deviations, and so many errors: chance gives 1 in 10^6 or less.
    surgeNoise: 4,
    // Bad input of one stage and reason is told from this share of a model's requests on: fewer are an everyday mistake.
    invalidRatio: 0.02,
    // A heartbeat comes every half scrape interval, at least every 5 s; a worker without one for a medium window is dead or hangs.
    restartsPerQuarterHour: 3,
    // A hit ratio below this share of the last hour's, where that was worth having.
    cacheDropRatio: 0.5,
    cacheWorthRatio: 0.2,
    // A cache of keys and values this full has no room for another prompt. Answers end and give room back, so it gets
    // there again and again, and is this full on average.
    kvCacheRatio: 0.95,
    kvCacheMeanRatio: 0.75,
    // One in twenty requests that is put back and computed again.
    preemptedRatio: 0.05,
    // A pool that grew and shrank three times in an hour. A day's traffic turns it twice a day, a campaign twice more;
    // one that waits five minutes before it shrinks turns ten times at most.
    autoscalerTurns: 6,
    // Traces that stand for less than all but this share of what Triton counted, by more than chance leaves out of a
    // sample.
    untracedRatio: 0.01,
    // Beyond that so many standard deviations, and so many requests: those under way at either end of the hour.
    untracedNoise: 4,
    untracedRequests: 10,
    // Above these, the next allocation may fail.
    hostMemoryRatio: 0.95,
    // Inference engines reserve nine tenths at start, so only the very top means trouble.
    acceleratorMemoryRatio: 0.97,
    acceleratorBusyRatio: 0.95,
    // A card whose exporter tells no reasons, yet works below this share of the clock it has reached within a day.
    acceleratorClockRatio: 0.8,

    // Fewer bad requests than this in the long window of a tier are chance, whatever share they make up.
    sloMinimumBad: 5,
    // The same where requests are traced by sample: bad ones that were really seen. While a budget is spent as it may
    // be, so many come by chance once in 3 * 10^8 windows of the fast tier, in 60,000 of the medium one, in 400 of the
    // slow one.
    sloMinimumBadSamples: 10,
    // A weak objective times a large factor could ask for more than 100 % errors: cut there.
    sloThresholdCap: 0.9,
    // A burn that has begun lasts while its windows are above this part of their thresholds, one that came back while a
    // longer window is above the smaller part: chance carries a share over its threshold and back.
    burnLastingRatio: 0.8,
    burnAgainRatio: 0.5,
    // A spent budget counts as spent until this much of it is left.
    budgetLeftRatio: 0.02,
    // A version that has this share of its model's bad requests is the one that fails.
    burnVersionShare: 0.9,
    // Above this share of requests that cannot be measured, an SLO says too little to be relied on.
    sloUnmeasuredRatio: 0.01,
  },
}
