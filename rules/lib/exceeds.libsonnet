// Where traffic exceeds a share of its limit, in one of four windows: at once where it is far above, within minutes where
// it is well above, and later the smaller the excess is.
//
// Two things explain an excess that means nothing. Requests come at random (chance.libsonnet). And the rate itself
// breathes, more than chance does: how much is known from the last hours (records/breath.libsonnet), and what such
// traffic does near its limit is exceeded, too. Where requests wait, the servers are full already, and breath is no
// excuse. From which rate on a window counts is worked out first, of the few rows of limits, so that rates are read once.
local chance = import 'chance.libsonnet';
local fit = import 'fit.libsonnet';
local of_limit = import 'of_limit.libsonnet';
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
// `held` are the limits that are compared: all of them, or those of traffic that is near (overflow.libsonnet).
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
  ]))
