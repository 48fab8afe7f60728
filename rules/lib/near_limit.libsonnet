// Limits of requests of which traffic is near, or was between the last two scrapes. Only those can be exceeded, and most
// traffic is far below its limit: what an excess means is worked out for few. Each window of exceeds.libsonnet asks for
// one of these three rates above the share at which we warn.
local fit = import 'fit.libsonnet';
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
}
