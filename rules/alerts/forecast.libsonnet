// Traffic that will exceed its limit: it rose in every part of the time looked at, by more than chance, and neither
// yesterday nor last week explains it.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local of_limit = import '../lib/of_limit.libsonnet';
  // Of subjects with a limit.
  local quick = 'subject:triton_requests_offered:mean5m';
  local slow = 'subject:triton_requests_offered:mean15m';
  local limit = 'subject:tritonobs_qps_limit:held';
  local at(series, minutes) = if minutes == 0 then series else series + ' offset ' + text.span(minutes + 'm');
  local yesterday = at(slow, 1440);
  // What was gained between two times, so many minutes ago.
  local gain(series, from, to=0) =
    fit('(%(after)s - on (%(subject)s) %(before)s)', { after: at(series, to), before: at(series, from) });
  local more(what, than) = fit('(%(what)s > on (%(subject)s) %(than)s)', { what: what, than: than });
  // It rose for so many minutes: in every third of them by half of its share at least, and in all of them by more
  // than chance. A step fills no more than two thirds. If it goes on so, it exceeds the limit; a mean of some
  // seconds is half as old.
  local rises(series, seconds, minutes) =
    local ahead(horizon) =
      fit('%(series)s + on (%(subject)s) (%(horizon)s + %(age)s / 2) / %(seconds)s * %(gained)s', {
        series: series,
        horizon: horizon,
        age: std.toString(seconds),
        seconds: std.toString(60 * minutes),
        gained: gain(series, minutes),
      });
    std.join('\nand on (%(subject)s)\n', [
      more(ahead('%(forecastSeconds)s'), limit),
      // Without a yesterday each morning's rise looks like growth: then it must be nearer.
      '(' + more(ahead('0.4 * %(forecastSeconds)s'), limit) + ' or on (%(subject)s) ' + yesterday + ')',
      more(gain(series, minutes), fit('%(forecastNoise)s * sqrt(2 * %(limit)s / %(age)s)', {
        limit: limit,
        age: std.toString(seconds),
      })),
    ] + [
      more(gain(series, minutes * (third + 1) / 3, minutes * third / 3), gain(series, minutes) + ' / 6')
      for third in [0, 1, 2]
    ]);
  // So many minutes ago it rose as well, and if it goes on as then, the hour to come stays within the limit.
  local explained(ago) =
    local ahead_of(minutes) = fit(|||
      and on (%(subject)s)
      (
        %(now)s
          * on (%(subject)s)
        (%(later)s / on (%(subject)s) (%(before)s > 0))
          <= on (%(subject)s)
        %(limit)s
      )
    |||, { now: slow, later: at(slow, ago - minutes), before: at(slow, ago), limit: limit });
    local after(share) = ahead_of(config.forecastSeconds / 60 * share);
    fit('(%(earlier)s >= on (%(subject)s) %(now)s / 2)\n', { earlier: gain(slow, ago + 45, ago), now: gain(slow, 45) }) +
    after(1 / 2) + after(1);
  [
    text.alert('TritonQpsWillExceedLimit', 'warning', text.owned(of_limit(fit(|||
      (
        (
          %(steep)s
        )
        or
        (
          %(even)s
        )
        or
        (
          %(gentle)s
        )
      )
      and on (%(subject)s)
      (%(quick)s > on (%(subject)s) %(forecastFloorRatio)s * %(limit)s)
      unless on (%(subject)s)
      (
        (
          %(yesterday)s
        )
        or
        (
          %(last_week)s
        )
      )
      unless on (%(subject)s)
      (subject:triton_requests_offered:rate%(short)s > on (%(subject)s) %(limit)s)
    |||, {
      steep: rises(quick, 300, 15),
      even: rises(quick, 300, 30),
      // The mean of a quarter of an hour goes on for as long after the rise.
      gentle: rises(slow, 900, 45) + '\nand on (%(subject)s)\n' + more(gain(quick, 15), gain(slow, 45) + ' / 6'),
      quick: quick,
      limit: limit,
      yesterday: explained(1440),
      last_week: explained(10080),
    }))), {
      summary: 'Traffic grows towards its limit of requests.',
      description: say.subject + ' would be offered ' + say.number + ' requests/s in {{ %(forecastSeconds)s | humanizeDuration }} if its traffic goes on growing; its limit is ' +
                   say.look('subject:tritonobs_qps_limit:held', ['model', 'version']) +
                   '. ' + say.unexplained + ' Add capacity now, or agree with the callers on less.',
      board: boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m'),
    }, wait='4m', keep=config.forecastKeepFiring),
  ]
