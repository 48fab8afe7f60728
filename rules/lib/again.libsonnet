// What comes and goes: the second time within three hours it stays until an hour has passed without it, for one message
// of each time is more than anyone can use. `record` is what is so now, of subjects that `labels` tell apart, evaluated
// every `interval`, in a group `apart` or with what it reads; it has begun anew when it was not so for ten minutes, and
// then for as long as the alert waits.
local fit = import 'fit.libsonnet';
local duration = import 'duration.libsonnet';
function(config, record, labels, interval, wait='0s', apart=false)
  local text = (import 'text.libsonnet')(config);
  // How long before now the evaluation before was at least: records of another group, and late ones, are older themselves.
  local step =
    if !config.recordsAtOnce then 2 * duration.seconds(config[interval + 'Interval'])
    else if apart then duration.seconds(config[interval + 'Interval'])
    else 1;
  local begins = std.split(record, ':')[0] + ':' + std.split(record, ':')[1] + '_begins:info';
  {
    begins:: text.record(begins, fit(|||
      %(record)s%(lasting)s
        unless on (%(labels)s)
      last_over_time(%(record)s[%(span10m)s] offset %(before)s)
    |||, {
      record: record,
      labels: labels,
      lasting: if wait == '0s' then '' else fit('\n  and on (%(labels)s)\n%(record)s offset ' + text.span(wait), { labels: labels, record: record }),
      before: duration.text(duration.seconds(text.span(wait)) + step),
    })),
    held:: fit(|||
      (
        last_over_time(%(record)s[%(span1h)s])
          and on (%(labels)s)
        (count_over_time(%(begins)s[%(span3h)s]) >= 2)
      )
    |||, { record: record, labels: labels, begins: begins }),
    // Where records come late what is so now is not read from one.
    records(expr):: [text.record(record, expr), $.begins],
    alert(expr):: fit(|||
      (
        %(now)s
        or on (%(labels)s)
        %(held)s
      )
    |||, { now: if config.recordsAtOnce then record else '(\n' + expr + ')', labels: labels, held: $.held }),
    local often = 'with printf "max(count_over_time(' + begins + '{%(clusterIs)smodel=%%q,version=%%q}[%(span3h)s])) >= 2" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
    says:: '{{ ' + often + ' }} It comes and goes: {{ . | first | value }} times in three hours, and this lasts until an hour has passed without it.{{ end }}',
    says_zh:: '{{ ' + often + ' }}它时有时无：三小时内 {{ . | first | value }} 次；连续一小时没有再出现后本告警才结束。{{ end }}',
  }
