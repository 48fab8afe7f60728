// Alerts whose condition recurs, and the records that count how often it began.
local duration = import 'duration.libsonnet';
local fit = import 'fit.libsonnet';

// Returns the records and the alert expression of a recurring condition. From its second beginning within three hours on the
// alert lasts until an hour has passed without the condition, because one message for each recurrence is too many.
//
// `record` names the record of the condition, whose rows `labels` distinguish. `interval` is that of the group that
// evaluates both records, `wait` the `for` of the alert. `apart` says that `record` is in another group. A beginning is
// recorded when the condition has held for `wait` and did not hold in the ten minutes before.
local again =
  function(config, record, labels, interval, wait='0s', apart=false)
    local text = (import 'text.libsonnet')(config);
    // Where a ruler writes late, and where the record is in another group, the latest sample is up to one evaluation old.
    local every = duration.seconds(config[interval + 'Interval']);
    local late = if config.recordsAtOnce then 0 else every;
    local waited = duration.seconds(text.span(wait)) + late;
    local step = if config.recordsAtOnce && !apart then 1 else every;
    local begins = std.split(record, ':')[0] + ':' + std.split(record, ':')[1] + '_begins:info';
    local began = text.record(begins, fit(|||
      %(record)s%(lasting)s
        unless on (%(labels)s)
      last_over_time(%(record)s[%(span10m)s] offset %(before)s)
    |||, {
      record: record,
      labels: labels,
      lasting: if wait == '0s' then '' else fit('\n  and on (%(labels)s)\n%(record)s offset ' + duration.text(waited), { labels: labels, record: record }),
      before: duration.text(waited + step),
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
      records(expr):: [text.record(record, expr), began],
      // Where a ruler writes late, the alert evaluates `expr` itself, because the record would be an evaluation old.
      alert(expr):: fit(|||
        (
          %(now)s
          or on (%(labels)s)
          %(held)s
        )
      |||, { now: if config.recordsAtOnce then record + ' > 0' else '(\n' + expr + ')', labels: labels, held: held }),
    };

// Every recurring alert, with the record of its condition. For `down` only `held` is used: records/servers.libsonnet has the
// records of outages.
local returning =
  function(config) {
    down: again(config, 'replica:triton_outage:info', '%(replica_only)s', 'evaluation'),
    limit: again(config, 'subject:tritonobs_limit_exceeded:rate', '%(subject)s', 'evaluation', apart=true),
    dead: again(config, 'model_instance:tritonobs_worker_dead:info', '%(subject)s, %(replica)s, model_instance', 'evaluation', '15s'),
    unloaded: again(config, 'subject:tritonobs_model_unloaded:info', '%(subject)s', 'evaluation', '1m'),
    invalid: again(config, 'model_version_stage_reason:tritonobs_invalid_surge:rate', '%(subject)s, stage, reason', 'stage', '1m'),
  };
{ again: again, returning: returning }
