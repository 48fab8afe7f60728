// Thresholds of the alerts. Each is a choice with its reason above it.
{
  _config+:: {
    // The share of a limit at which we warn, early enough to act.
    limitWarningRatio: 0.8,
    // Requests arrive at random: in a short window a rate of 8 now and then reads 12. A limit counts as exceeded when the
    // count is this number of standard deviations above it, plus a fifth of the square of that number, because the Poisson
    // distribution has a longer tail at small counts. `limitNoiseLong` is for windows from 5 m on: a day has fewer of them.
    // At 95 % of any limit, chance exceeds one of the windows less than once in twenty days.
    limitNoise: 4.5,
    limitNoiseLong: 4,
    // Real traffic varies more than a Poisson process. The first four are multiples of the limit: the largest pages within
    // seconds, the others after two and a half minutes, nine minutes and a quarter of an hour. The last two are for traffic
    // that varied a lot in the last half day: it must also exceed what such traffic reaches with a mean at `limitBase` of
    // the limit, the variation multiplied by `limitBreath`. Chosen with months of simulated traffic (bench/uneven.py).
    limitAtOnceRatio: 1.5,
    limitSoonRatio: 1.1,
    limitLastingRatio: 1.05,
    limitLongRatio: 1.03,
    limitBase: 0.85,
    limitBreath: 1,
    // Keeps an alert firing through the dips of bursty traffic, so that it is one message.
    limitKeepFiring: '1m',
    // Traffic near the warning share crosses it again and again. The warning lasts for this time after the last crossing, so
    // that it begins less than twice a day. It ends earlier when no 5 m mean of an hour was above `limitLeftRatio` of that
    // share.
    limitNearKept: '6h',
    limitLeftRatio: 0.9,
    // A burst between two scrapes: this many times the limit, and more than chance explains.
    spikeRatio: 1.5,
    // Bursts recur: those within half an hour are one alert.
    spikeKeepFiring: '30m',
    forecastKeepFiring: '5m',
    // The horizon of the forecast in seconds; the share of the limit below which growth does not matter; and the number of
    // standard deviations that the growth must exceed.
    forecastSeconds: 3600,
    forecastFloorRatio: 0.5,
    forecastNoise: 4,
    // Traffic below `dropRatio` of the same time yesterday and last week. `dropFloor` is the least rate of yesterday, in
    // requests a second.
    dropRatio: 0.5,
    dropFloor: 0.5,
    // Silence is reported where at least this many requests were expected in it: with 20 expected, chance gives none once in
    // 10^8 times.
    silenceRequests: 20,

    // A mean queue time above this needs more model instances or larger batches. In seconds.
    queueSeconds: 0.1,
    // Model instances that work nine tenths of the time have no room for a burst.
    busyRatio: 0.9,
    // TritonBatchInefficient: more than `waitingRequests` wait on average, yet an execution takes fewer than
    // `requestsPerExecution`.
    waitingRequests: 1,
    requestsPerExecution: 1.5,
    // A stage that needs this share of the threshold of the whole request leaves too little for the others.
    stageBudgetRatio: 0.8,
    // A replica this many times slower than the mean of the others, with at least `skewRequests` requests in 5 m.
    skewRatio: 2,
    skewRequests: 20,
    // A reason occurs this many times as often as in the last hour, with at least `surgeErrors` errors in 5 m.
    surgeRatio: 3,
    surgeErrors: 5,
    // The surge must also exceed the expected number of errors by this number of standard deviations and the same number of
    // errors: chance does that once in 10^6 times or less.
    surgeNoise: 4,
    // Invalid input of one stage and reason is reported from this share of the model's requests on. Fewer are everyday
    // mistakes.
    invalidRatio: 0.02,
    // TritonRestartLoop: starts of one server or worker in a quarter of an hour.
    restartsPerQuarterHour: 3,
    // A cache hit ratio below `cacheDropRatio` of the mean of the last hour, where that mean was above `cacheWorthRatio`.
    cacheDropRatio: 0.5,
    cacheWorthRatio: 0.2,
    // A KV cache that reaches `kvCacheRatio` has no room for another prompt. Answers that end free room, so a full cache
    // reaches it again and again and has a mean above `kvCacheMeanRatio`.
    kvCacheRatio: 0.95,
    kvCacheMeanRatio: 0.75,
    // One in twenty requests is preempted and computed again.
    preemptedRatio: 0.05,
    // Changes of direction in an hour: a pool that grew and shrank three times. Daily traffic causes two a day, a campaign
    // two more. An autoscaler that waits five minutes before it shrinks causes at most ten an hour.
    autoscalerTurns: 6,
    // TritonobsTracesIncomplete: the share of Triton's requests that traces may miss, beside the error of sampling.
    untracedRatio: 0.01,
    // The allowance for sampling: this number of standard deviations, plus requests under way at either end of the hour.
    untracedNoise: 4,
    untracedRequests: 10,
    // Above these, the next allocation may fail.
    hostMemoryRatio: 0.95,
    // Inference engines reserve nine tenths of the memory at start, so only a higher share means trouble.
    acceleratorMemoryRatio: 0.97,
    acceleratorBusyRatio: 0.95,
    // A card whose exporter reports no throttle reason runs below this share of its highest clock within a day.
    acceleratorClockRatio: 0.8,

    // Fewer bad requests than this in the long window of a tier are chance, for any share.
    sloMinimumBad: 5,
    // The same for SLOs on sampled traces, in traced requests. While a budget is spent at exactly the allowed rate, chance
    // gives this many once in 3 * 10^8 windows of the fast tier, once in 60,000 of the medium one, and once in 400 of the
    // slow one.
    sloMinimumBadSamples: 10,
    // A low objective times a large factor would ask for more than 100 % errors, so thresholds are capped here.
    sloThresholdCap: 0.9,
    // Chance moves a ratio over its threshold and back. A burn that has begun lasts while its windows are above
    // `burnLastingRatio` of their thresholds; a recurring one lasts while its longer window is above `burnAgainRatio` of it.
    burnLastingRatio: 0.8,
    burnAgainRatio: 0.5,
    // A spent budget counts as spent until this share of it is left.
    budgetLeftRatio: 0.02,
    // A version with this share of its model's bad requests is named as the one that fails.
    burnVersionShare: 0.9,
    // Above this share of unmeasured requests an SLO is not reliable.
    sloUnmeasuredRatio: 0.01,
  },
}
