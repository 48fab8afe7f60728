// How much traffic breathes: by how much it fell in the worst fifth of hours, from one moment to another some minutes
// later, beyond what it fell or grew all the time. What it rises is not asked, so that an overload does not count as the
// breath of the traffic it comes from; nor does a short outage, nor a morning. Three hours know what it does now, but hold
// few of the waves that last for minutes; half a day holds enough. The larger of the two counts.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local offered = 'subject:triton_requests_offered:';
  local names = {
    breath: { record: offered + 'rate%(short)s', apart: '%(breathApart)s' },
    breath5m: { record: offered + 'rate5m', apart: '%(span10m)s' },
  };
  local fall(step, window) = fit(|||
    (
      quantile_over_time(0.5, %(step)s[%(window)s])
        - on (%(subject)s)
      quantile_over_time(0.2, %(step)s[%(window)s])
    )
  |||, { step: step, window: window });
  // They are much to read, and change slowly: every other minute is enough, and hours of them are few samples.
  std.flatMap(
    function(name) [
      text.record(offered + name + '_step', fit(|||
        (%(record)s - on (%(subject)s) %(record)s offset %(apart)s)
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      |||, names[name])),
      text.record(offered + name, fit(|||
        (
          %(lately)s
            > on (%(subject)s)
          %(long)s
        )
        or
        %(long)s
      |||, { lately: fall(offered + name + '_step', '%(span3h)s'), long: fall(offered + name + '_step', '%(span12h)s') })),
    ],
    std.objectFields(names)
  )
