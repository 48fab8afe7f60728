// What comes and goes, and the alerts that may.
local duration = import 'duration.libsonnet';
local fit = import 'fit.libsonnet';

// What comes and goes: the second time within three hours it stays until an hour has passed without it, for one message
// of each time is more than anyone can use. `record` is what is so now, of subjects that `labels` tell apart, evaluated
// every `interval`, in a group `apart` or with what it reads; it has begun anew when it was not so for ten minutes, and
// then for as long as the alert waits.
local again =
  function(config, record, labels, interval, wait='0s', apart=false)
    local text = (import 'text.libsonnet')(config);
    // Records that come late, and those of another group, are older than now themselves.
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
      // Where records come late what is so now is not read from one.
      records(expr):: [text.record(record, expr), began],
      alert(expr):: fit(|||
        (
          %(now)s
          or on (%(labels)s)
          %(held)s
        )
      |||, { now: if config.recordsAtOnce then record + ' > 0' else '(\n' + expr + ')', labels: labels, held: held }),
    };

// Alerts that may come and go, with the record of what each is about.
local returning =
  function(config) {
    down: again(config, 'replica:triton_outage:info', '%(replica_only)s', 'evaluation'),
    limit: again(config, 'subject:tritonobs_limit_exceeded:rate', '%(subject)s', 'evaluation', apart=true),
    dead: again(config, 'model_instance:tritonobs_worker_dead:info', '%(subject)s, %(replica)s, model_instance', 'evaluation', '15s'),
    unloaded: again(config, 'subject:tritonobs_model_unloaded:info', '%(subject)s', 'evaluation', '1m'),
    invalid: again(config, 'model_version_stage_reason:tritonobs_invalid_surge:rate', '%(subject)s, stage, reason', 'stage', '1m'),
  };
{ again: again, returning: returning }
