// What counts as too much. Every number is a choice; its reason stands above it.
{
  _config+:: {
    // Share of a limit at which we warn, while there is still time.
    limitWarningRatio: 0.8,
    // Requests come at random: in a short window a rate of 8 reads 9 or 10 now and then. A limit counts as exceeded
    // at once by more than this many standard deviations of such chance, and after 5 m by anything; in both cases by
    // so many requests at least, or models that get one a minute would be above their limit every night.
    limitNoise: 2,
    limitExcess: 10,
    // Keeps an alert up through the dips of bursty traffic: one message, not ten.
    limitKeepFiring: '1m',
    // A burst between two scrapes: this much above the limit, and at least so many requests too many.
    spikeRatio: 1.5,
    spikeRequests: 10,
    spikeKeepFiring: '5m',
    // How far ahead we look, and the share of the limit (now, and gained in 5 m) below which a trend is but noise.
    forecastSeconds: 3600,
    forecastFloorRatio: 0.5,
    forecastGainRatio: 0.02,
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
    // A heartbeat comes every second; a worker without one for a medium window is dead or hangs.
    restartsPerQuarterHour: 3,
    // A hit ratio below this share of the last hour's, where that was worth having.
    cacheDropRatio: 0.5,
    cacheWorthRatio: 0.2,
    // Above these, the next allocation may fail.
    hostMemoryRatio: 0.95,
    // Inference engines reserve nine tenths at start, so only the very top means trouble.
    acceleratorMemoryRatio: 0.97,
    acceleratorBusyRatio: 0.95,

    // Fewer bad requests than this in the long window of a tier are chance, whatever share they make up.
    sloMinimumBad: 5,
    // A weak objective times a large factor could ask for more than 100 % errors: cut there.
    sloThresholdCap: 0.9,
  },
}
