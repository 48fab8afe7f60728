// More requests than the limit: the alert for which seconds count. It stands in the group of the records it reads, behind
// them; in a group of its own it would be evaluated up to one interval after them.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local limit = say.look('subject:tritonobs_qps_limit:held', ['model', 'version']);
  local record = 'subject:tritonobs_limit_exceeded:rate';
  local near = (import '../lib/near_limit.libsonnet')(config);
  local exceeds = (import '../lib/exceeds.libsonnet')('1', near.limit);
  // It may go on behind a full queue, or come back. (Where a record is read late the page does not wait for it.)
  local exceeded = fit(|||
    (
      %(now)s
      or on (%(subject)s)
      (
        subject:triton_requests_offered:rate%(short)s
          and on (%(subject)s)
        (subject:tritonobs_limit_kept:info or on (%(subject)s) subject:tritonobs_limit_again:info)
      )
    )
  |||, { now: if config.recordsAtOnce then record else exceeds });
  // What a server under two addresses does counts twice: below twice the limit that is no excess.
  local twice = |||
    unless on (%(subject)s)
    (
      (
        subject:triton_requests_offered:rate5m
          <= on (%(subject)s)
        2 * subject:tritonobs_qps_limit:held
      )
        and on (%(model)s)
      model:triton_scraped_twice:info
    )
  |||;
  local passed_on = |||
    unless on (%(model)s)
    model:tritonobs_limit_passed_on:info
  |||;
  near.records + [
    text.record(record, exceeds),
    text.alert('TritonQpsAboveLimit', 'critical', text.owned(exceeded + twice + passed_on), {
      summary: 'More requests come than the limit allows.',
      description: say.subject + ' is offered ' + say.number + ' requests/s, its limit is ' + limit + '.' + say.kept + say.returns('subject:tritonobs_limit_exceeded_begins:info') + say.waiting + say.causes +
                   ' Find out who sends more than agreed and slow them down, or add capacity and raise the limit with `tritonobs limits set`.',
      board: boards.link('model', ['model', 'version'], 'subject:triton_requests_offered:rate5m'),
    }, keep=config.limitKeepFiring),
  ]
