// Where traffic exceeds a share of its limit, by more than chance explains in one of four windows. Requests come at
// random: of N expected, N + z * sqrt(N) + z^2 / 5 come so seldom that chance pages nobody. The shortest window
// is the quickest, and the only one that a burst of seconds could fill: there each of the last three scrapes must have
// seen more than the limit. The longer ones see smaller excess, and end with it: the last minute must be above the
// limit, too.
local fit = import 'fit.libsonnet';
local of_limit = import 'of_limit.libsonnet';
local limit = '%(share)ssubject:tritonobs_qps_limit:held';
local offered = 'subject:triton_requests_offered:';
local minute = offered + 'mean%(medium)s';
// More than chance within so many seconds.
local excess(rate, seconds, noise) = fit(|||
  (
    %(rate)s
      > on (%(subject)s)
    %(limit)s + (%(noise)s * sqrt(%(limit)s * %(seconds)s) + %(noise)s ^ 2 / 5) / %(seconds)s
  )
|||, { rate: rate, limit: limit, seconds: seconds, noise: noise });
local above(rate) = fit(|||
  and on (%(subject)s)
  (%(rate)s > on (%(subject)s) %(limit)s)
|||, { rate: rate, limit: limit });
local hot = offered + 'irate%(short)s';
function(share) of_limit(fit(
  '(\n' + excess(offered + 'rate%(short)s', '(%(shortSeconds)s - %(scrapeSeconds)s)', '%(limitNoise)s') +
  above(hot) + above(hot + ' offset %(stepBefore)s') + above(hot + ' offset %(stepsBefore)s') + ')\nor\n' +
  excess(minute, '%(mediumSeconds)s', '%(limitNoise)s') +
  'or\n(\n' + excess(offered + 'rate5m', '%(seconds5m)s', '%(limitNoiseLong)s') + above(minute) +
  ')\nor\n(\n' + excess(offered + 'mean15m', '%(seconds15m)s', '%(limitNoiseLong)s') + above(minute) + ')\n',
  { share: if share == '1' then '' else share + ' * ' }
))
