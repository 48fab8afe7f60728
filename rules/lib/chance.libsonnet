// Requests come at random: of N expected, N + z * sqrt(N) + z^2 / 5 come so seldom that chance pages nobody.
local fit = import 'fit.libsonnet';
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
}
