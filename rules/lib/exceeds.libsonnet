// Where traffic exceeds a share of its limit, in one of four windows: at once where it is far above, within minutes where
// it is well above, and later the smaller the excess is.
//
// Two things explain an excess that means nothing. Requests come at random (chance.libsonnet). And the rate itself
// breathes, more than chance does: how much is known from the last hours (records/breath.libsonnet), and what such
// traffic does near its limit is exceeded, too. Where requests wait, the servers are full already, and breath is no
// excuse.
local chance = import 'chance.libsonnet';
local fit = import 'fit.libsonnet';
local of_limit = import 'of_limit.libsonnet';
local limit = '%(share)ssubject:tritonobs_qps_limit:held';
local offered = 'subject:triton_requests_offered:';
local breath = offered + 'breath';
local slow_breath = offered + 'breath5m';
local waits = 'subject:tritonobs_queue_waits:info';
local minute = offered + 'mean%(medium)s';
// How far traffic with this breath gets when it stays 15 % below the limit.
local reach(shares) = std.join(' + on (%(subject)s) ', ['%(limitBase)s * ' + limit] + [
  '%(limitBreath)s * ' + '%.10g' % shares[of] + ' * ' + of
  for of in std.objectFields(shares)
]);
// The rate is above the limit by more than chance within so many seconds, above `floor` times of it, and beyond its own
// breath or above `ceiling` times of what chance explains.
local over(rate, seconds, noise, floor, ceiling, breaths, patient='') = fit(|||
  (
    (
      %(rate)s
        > on (%(subject)s)
      %(most)s
    )
    unless on (%(subject)s)
    (
      (
        (%(rate)s <= on (%(subject)s) %(floor)s * %(limit)s)
        or
        (
          (%(rate)s <= on (%(subject)s) %(reach)s)
          and on (%(subject)s)
          (%(rate)s <= on (%(subject)s) %(ceiling)s * (%(most)s))
        )
      )
      %(patient)s
    )
  )
|||, {
  rate: rate,
  limit: limit,
  most: chance.most(limit, seconds, noise),
  floor: floor,
  ceiling: ceiling,
  reach: reach(breaths),
  patient: patient,
});
local full = 'unless on (%(subject)s) ' + waits;
local above(rate) = fit(|||
  and on (%(subject)s)
  (%(rate)s > on (%(subject)s) %(limit)s)
|||, { rate: rate, limit: limit });
local hot = offered + 'irate%(short)s';
// Where bursts are known two of them may follow each other at once: there it must go on for longer.
local bursting = fit(|||
  unless on (%(subject)s)
  (
    last_over_time(subject:tritonobs_limit_burst:timestamp_seconds[%(span3h)s] offset %(span10m)s)
      unless on (%(subject)s)
    (min_over_time(%(hot)s[%(bursts)s]) > on (%(subject)s) %(limit)s)
  )
|||, { hot: hot, limit: limit });
local within(how, rate, window) = how + '_over_time(' + rate + '[' + window + '])';
local both = std.join('\nand on (%(subject)s)\n', [
  over(
    rate,
    '(%(mediumSeconds)s + %(sustainedSeconds)s)',
    '%(limitNoise)s',
    '%(limitSoonRatio)s',
    '1.75',
    { [breath]: 1.6, [slow_breath]: 3.3 },
    full
  )
  for rate in [
    within('avg', minute, '%(sustained)s'),
    // The least may be a fifth nearer to the limit than the mean.
    '(%s - on (%%(subject)s) 0.2 * %s) / 0.8' % [within('min', minute, '%(sustained)s'), limit],
  ]
]);
function(share) of_limit(fit(
  // The shortest is the quickest, and the only one that a burst of seconds could fill: there each of the last three
  // scrapes must have seen more than the limit. At a small limit two bursts look like chance, so it takes more of that.
  '(\n' +
  over(
    offered + 'rate%(short)s',
    '(%(shortSeconds)s - %(scrapeSeconds)s)',
    '(%(limitNoise)s + 0.5)',
    '%(limitAtOnceRatio)s',
    '2',
    { [breath]: 5.5, [slow_breath]: 2 }
  ) +
  std.join('', [above(hot + before) for before in ['', ' offset %(stepBefore)s', ' offset %(stepsBefore)s']]) +
  bursting +
  ')\nor\n(\n' + both + above(minute + ' offset %(sustained)s') + above(offered + 'rate%(short)s') +
  // Five minutes, all the time for four, and now.
  ')\nor\n(\n' +
  over(
    within('avg', offered + 'rate5m', '%(span4m)s'),
    '(%(seconds5m)s + %(seconds4m)s)',
    '%(limitNoiseLong)s',
    '%(limitLastingRatio)s',
    '1.5',
    { [slow_breath]: 4 },
    full
  ) + above(within('min', offered + 'rate5m', '%(span4m)s')) + above(offered + 'rate5m offset %(span4m)s') +
  above(minute) +
  ')\nor\n(\n' +
  over(
    offered + 'mean15m',
    '%(seconds15m)s',
    '%(limitNoiseLong)s',
    '%(limitLongRatio)s',
    '1.35',
    { [slow_breath]: 2.8 },
    full
  ) + above(minute) + ')\n',
  { share: if share == '1' then '' else share + ' * ' }
))
