// Alerts whose condition recurs, and the records that count how often it began.
local duration = import 'duration.libsonnet';
local fit = import 'fit.libsonnet';

// Returns the records and the alert expression of a recurring condition. From its second beginning within three hours on the
// alert lasts until an hour has passed without the condition, because one message for each recurrence is too many.
//
// `record` names the record of the condition, whose rows `labels` distinguish. `interval` is that of the group that evaluates
// the beginnings, `wait` the `for` of the alert and `keep` its keep_firing_for. `apart` says that the condition is in another
// group. The alert begins when the condition has lasted for `wait`, and was absent for `keep` before: within it the alert would
// still fire. (The beginnings cannot be read from the alert itself, which reads them.)
local again =
  function(config, record, labels, interval, keep, wait='0s', apart=false)
    local text = (import 'text.libsonnet')(config);
    // Where a ruler writes late, and where the condition is in another group, its latest sample is up to one evaluation old.
    local every = duration.seconds(config[interval + 'Interval']);
    local late = if config.recordsAtOnce then 0 else every;
    local named(what) = std.split(record, ':')[0] + ':' + std.split(record, ':')[1] + '_' + what + ':info';
    local begins = named('begins');
    local lasting = if wait == '0s' then record else named('lasts');
    local lasts = text.record(lasting, fit(|||
      %(record)s
        and on (%(labels)s)
      %(record)s offset %(wait)s
    |||, { record: record, labels: labels, wait: duration.text(duration.seconds(text.wait(wait)) + late) }));
    local began = text.record(begins, fit(|||
      %(lasting)s
        unless on (%(labels)s)
      last_over_time(%(lasting)s[%(keep)s] offset %(before)s)
    |||, {
      lasting: lasting,
      labels: labels,
      // Prometheus counts `keep` from the first evaluation without the condition. What returns within it need not wait.
      keep: duration.text(duration.seconds(text.wait(keep)) + duration.seconds(text.wait(wait)) + every),
      before: duration.text(late + if apart then every else 1),
    }));
    // The last row of the condition within an hour, if it began at least twice within three.
    local held = fit(|||
      (
        last_over_time(%(record)s[%(span1h)s])
          and on (%(labels)s)
        (count_over_time(%(begins)s[%(span3h)s]) >= 2)
      )
    |||, { record: record, labels: labels, begins: begins });
    {
      begins:: began,
      held:: held,
      records(expr):: [text.record(record, expr)] + (if wait == '0s' then [] else [lasts]) + [began],
      // Where a ruler writes late, the alert evaluates `expr` itself, because the record would be an evaluation old.
      alert(expr):: fit(|||
        (
          %(now)s
          or on (%(labels)s)
          %(held)s
        )
      |||, { now: if config.recordsAtOnce then record + ' > 0' else '(\n' + expr + ')', labels: labels, held: held }),
    };

// Every recurring alert, with the record of its condition. Of TritonServerDown every outage counts, also within one alert: the
// message says how many there were.
local returning =
  function(config) {
    down: again(config, 'replica:triton_outage:info', '%(replica_only)s', 'evaluation', '0s'),
    limit: again(config, 'subject:tritonobs_limit_exceeded:rate', '%(subject)s', 'evaluation', config.limitKeepFiring, apart=true),
    dead: again(config, 'model_instance:tritonobs_worker_dead:info', '%(subject)s, %(replica)s, model_instance', 'model', '5m', '15s'),
    unloaded: again(config, 'subject:tritonobs_model_unloaded:info', '%(subject)s', 'model', '5m', '1m'),
    invalid: again(config, 'model_version_stage_reason:tritonobs_invalid_surge:rate', '%(subject)s, stage, reason', 'stage', '1m', '1m'),
  };
{ again: again, returning: returning }
