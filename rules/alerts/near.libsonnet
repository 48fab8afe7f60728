// Near a limit. Traffic around the share at which we warn is there again and again, so the warning stays until it has
// clearly left, or for some hours. What was said of a page before is not said again. It stands behind the record it reads.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local exceeds = (import '../lib/exceeds.libsonnet')('%(limitWarningRatio)s', (import '../lib/near_limit.libsonnet')(config).limit);
  local fit = import '../lib/fit.libsonnet';
  local near = 'subject:tritonobs_limit_near';
  local page = 'ALERTS{alertname="TritonQpsAboveLimit", alertstate="firing"}';
  [
    // Within an hour of a page about the limit it says nothing new: traffic that falls is near it for a while, and may rise
    // again.
    text.record(near + ':rate', fit(|||
      (
        %(near)s
      )
      unless on (%(subject)s)
      last_over_time(%(page)s[%(span1h)s])
      unless on (%(model)s)
      model:tritonobs_limit_passed_on:info
    |||, { near: exceeds, page: page })),
    text.record(near + ':timestamp_seconds', 'timestamp(' + near + ':rate)'),
    // It stays, unless the limit was exceeded since.
    text.alert('TritonQpsNearLimit', 'warning', text.owned(fit(|||
      %(near)s:rate
      or on (%(subject)s)
      (
        subject:triton_requests_offered:rate5m
          and on (%(subject)s)
        (
          %(since)s
            unless on (%(subject)s)
          (
            (
              max_over_time(subject:tritonobs_limit_exceeded:timestamp_seconds[%(limitNearHeld)s])
                > on (%(subject)s)
              %(since)s
            )
            or on (%(subject)s)
            last_over_time(subject:tritonobs_limit_kept:info[%(limitNearHeld)s])
          )
        )
        and on (%(subject)s)
        (
          max_over_time(subject:triton_requests_offered:mean5m[%(span1h)s])
            > on (%(subject)s)
          %(limitLeftRatio)s * %(limitWarningRatio)s * subject:tritonobs_qps_limit:held
        )
        unless on (%(subject)s)
        last_over_time(%(page)s[%(span1h)s])
      )
    |||, { near: near, page: page, since: 'max_over_time(' + near + ':timestamp_seconds[%(limitNearHeld)s])' })), {
      summary: 'Requests are near their limit.',
      description: say.subject + ' is offered ' + say.number + ' requests/s, its limit is ' +
                   say.look('subject:tritonobs_qps_limit:held', ['model', 'version']) + '.' + say.waiting +
                   ' Ask its callers what they plan, and add capacity before it is needed. The warning stays until an hour has passed well below.',
      board: boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m'),
    }, wait='1m', keep=config.limitKeepFiring),
  ]
