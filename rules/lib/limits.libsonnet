// Limits of requests: what exceeds one, what is only chance, and of whom it is said.
local fit = import 'fit.libsonnet';

// What is said of a subject and its limit of requests, once for a model that has but one version.
local of_limit =
  function(expr) fit(|||
    (
      %(expr)s
    )
    unless on (%(subject)s)
    model_version:tritonobs_limit_of_model:info
  |||, { expr: expr });

// The models that pipelines call, of rows about those pipelines by the name of each as a model.
local called =
  function(rows) fit(|||
    group by (%(model)s) (
      pipeline_stage_model:tritonobs_pipeline_calls:held
        and on (%(pipeline)s)
      label_replace(group by (%(model)s) (%(rows)s), "pipeline", "$1", "model", "(.*)")
    )
  |||, { rows: rows });

// `expr` without the versions of which it would say but the same as of their model: all the traffic is theirs, and
// their limit is no tighter. While a model has one version, an overflow is one alert. `by` are further labels; `expr`
// is a text block.
local once =
  function(expr, version, model, limit, by='') fit(|||
    (
      %(expr)s
    )
    unless on (%(subject)s%(by)s)
    (
      (
        %(version)s
          == on (%(model)s%(by)s) group_left ()
        %(whole)s
      )
      and on (%(subject)s%(by)s)
      (
        %(limit)s{version!=""}
          >= on (%(model)s%(by)s) group_left ()
        %(limit)s{model!="", version=""}
      )
    )
  |||, {
    expr: expr,
    version: version,
    whole: model,
    limit: limit,
    by: by,
  });

// Requests come at random: of N expected, N + z * sqrt(N) + z^2 / 5 come so seldom that chance pages nobody.
local chance =
  local held = 'subject:tritonobs_qps_limit:held';
  local most(limit, seconds, noise) = fit(
    '%(limit)s + (%(noise)s * sqrt(%(limit)s * %(seconds)s) + %(noise)s ^ 2 / 5) / %(seconds)s',
    { limit: limit, seconds: seconds, noise: noise }
  );
  {
    // The highest rate over so many seconds that chance explains at a limit.
    most:: most,
    // Between two scrapes it was far above the limit, and by more than chance.
    burst(only='', before=''):: fit(|||
      (
        subject:triton_requests_offered:irate%(short)s%(only)s%(before)s
          > on (%(subject)s)
        %(most)s
      )
      and on (%(subject)s)
      (
        subject:triton_requests_offered:irate%(short)s%(before)s
          > on (%(subject)s)
        %(spikeRatio)s * subject:tritonobs_qps_limit:held
      )
    |||, { only: only, before: before, most: most(held, '%(scrapeSeconds)s', '%(limitNoise)s') }),
  };

// Limits of requests of which traffic is near, or was between the last two scrapes. Only those can be exceeded, and most
// traffic is far below its limit: what an excess means is worked out for few. Each window of `exceeds` asks for
// one of these three rates above the share at which we warn.
local near_limit =
  local held = 'subject:tritonobs_qps_limit:held';
  local near = 'subject:tritonobs_qps_limit:near';
  local above(window) = fit(|||
    subject:triton_requests_offered:%(window)s
      > on (%(subject)s)
    %(limitWarningRatio)s * %(held)s
  |||, { window: window, held: held });
  function(config) {
    local text = (import 'text.libsonnet')(config),
    // (Where a record is read late, all limits are compared.)
    limit: if config.recordsAtOnce then near else held,
    records: if !config.recordsAtOnce then [] else [
      text.record(near, fit(|||
        %(held)s
          and on (%(subject)s)
        (
          %(now)s
          or
          %(minute)s
          or
          %(scrape)s
        )
      |||, { held: held, now: above('rate%(short)s'), minute: above('mean%(medium)s'), scrape: above('irate%(short)s') })),
    ],
  };

// Where traffic exceeds a share of its limit, in one of four windows: at once where it is far above, within minutes where
// it is well above, and later the smaller the excess is.
//
// Two things explain an excess that means nothing. Requests come at random (`chance`). And the rate itself
// breathes, more than chance does: how much is known from the last hours (records/limits.libsonnet), and what such
// traffic does near its limit is exceeded, too. Where requests wait, the servers are full already, and breath is no
// excuse. From which rate on a window counts is worked out first, of the few rows of limits, so that rates are read once.
local exceeds =
  local offered = 'subject:triton_requests_offered:';
  local breath = offered + 'breath';
  local slow_breath = offered + 'breath5m';
  local waits = 'subject:tritonobs_queue_waits:info';
  local minute = offered + 'mean%(medium)s';
  local five = offered + 'rate5m';
  local hot = offered + 'irate%(short)s';
  // By window: its length, how many standard deviations chance explains, the least share of the limit, above how much of
  // what chance explains breath is no excuse, and how far traffic with these breaths gets when it stays 15 % below the
  // limit. The shortest is the quickest, and the only one that a burst of seconds could fill. At a small limit two bursts
  // look like chance, so it takes more of that.
  local windows = {
    short: {
      seconds: '(%(shortSeconds)s - %(scrapeSeconds)s)',
      noise: '(%(limitNoise)s + 0.5)',
      floor: '%(limitAtOnceRatio)s',
      ceiling: '2',
      reach: { [breath]: 5.5, [slow_breath]: 2 },
      waits: '',
    },
    sustained: {
      seconds: '(%(mediumSeconds)s + %(sustainedSeconds)s)',
      noise: '%(limitNoise)s',
      floor: '%(limitSoonRatio)s',
      ceiling: '1.75',
      reach: { [breath]: 1.6, [slow_breath]: 3.3 },
      waits: 'unless on (%(subject)s) ' + waits,
    },
    '5m': {
      seconds: '(%(seconds5m)s + %(seconds4m)s)',
      noise: '%(limitNoiseLong)s',
      floor: '%(limitLastingRatio)s',
      ceiling: '1.5',
      reach: { [slow_breath]: 4 },
      waits: 'unless on (%(subject)s) ' + waits,
    },
    '15m': {
      seconds: '%(seconds15m)s',
      noise: '%(limitNoiseLong)s',
      floor: '%(limitLongRatio)s',
      ceiling: '1.35',
      reach: { [slow_breath]: 2.8 },
      waits: 'unless on (%(subject)s) ' + waits,
    },
  };
  local within(how, rate, window) = how + '_over_time(' + rate + '[' + window + '])';
  // `held` are the limits that are compared: all of them, or those of traffic that is near (`near_limit`).
  function(share, held)
    local limit = (if share == '1' then '' else share + ' * ') + held;
    local threshold(window) =
      local of = windows[window];
      fit(|||
        max by (%(subject)s) (
          label_replace(%(most)s, "part", "chance", "", "")
          or
          label_replace(%(floor)s * %(limit)s %(waits)s, "part", "floor", "", "")
          or
          label_replace(
            (
              (%(reach)s < on (%(subject)s) %(ceiling)s * (%(most)s))
              or on (%(subject)s)
              (%(ceiling)s * (%(most)s) and on (%(subject)s) %(reach)s)
            ) %(waits)s,
            "part", "breath", "", ""
          )
        )
      |||, {
        limit: limit,
        most: chance.most(limit, of.seconds, of.noise),
        floor: of.floor,
        ceiling: of.ceiling,
        waits: of.waits,
        reach: '(' + std.join(' + on (%(subject)s) ', ['%(limitBase)s * ' + limit] + [
          '%(limitBreath)s * ' + '%.10g' % of.reach[name] + ' * ' + name
          for name in std.objectFields(of.reach)
        ]) + ')',
      });
    local over(rate, window) = fit(|||
      (
        %(rate)s
          > on (%(subject)s)
        %(threshold)s
      )
    |||, { rate: rate, threshold: threshold(window) });
    local above(rate) = fit('(%(rate)s > on (%(subject)s) %(limit)s)\n', { rate: rate, limit: limit });
    local all(conditions) =
      fit('(\n  %(all)s\n)\n', { all: std.join('and on (%(subject)s)\n', conditions) });
    // Where bursts are known two of them may follow each other at once: there it must go on for longer.
    local bursting = fit(|||
      unless on (%(subject)s)
      (
        last_over_time(subject:tritonobs_limit_burst:timestamp_seconds[%(span3h)s] offset %(span10m)s)
          unless on (%(subject)s)
        (min_over_time(%(hot)s[%(bursts)s]) > on (%(subject)s) %(limit)s)
      )
    |||, { hot: hot, limit: limit });
    of_limit(std.join('or\n', [
      // Each of the last three scrapes must have seen more than the limit.
      all([over(offered + 'rate%(short)s', 'short')] + [
        above(hot + before)
        for before in ['', ' offset %(stepBefore)s']
      ] + [above(hot + ' offset %(stepsBefore)s') + bursting]),
      // The least may be a fifth nearer to the limit than the mean.
      all([
        over(within('avg', minute, '%(sustained)s'), 'sustained'),
        over('((%s - on (%%(subject)s) 0.2 * %s) / 0.8)' % [within('min', minute, '%(sustained)s'), limit], 'sustained'),
        above(minute + ' offset %(sustained)s'),
        above(offered + 'rate%(short)s'),
      ]),
      // Five minutes, all the time for four, and now.
      all([
        over(within('avg', five, '%(span4m)s'), '5m'),
        above(within('min', five, '%(span4m)s')),
        above(five + ' offset %(span4m)s'),
        above(minute),
      ]),
      all([over(offered + 'mean15m', '15m'), above(minute)]),
    ]));
{ of_limit: of_limit, called: called, once: once, chance: chance, near_limit: near_limit, exceeds: exceeds }
