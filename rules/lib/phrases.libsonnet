// Pieces of Prometheus templates that several alerts say. `%` is doubled: alert texts are filled from the config.
{
  // "detector version 2", "detector" over all versions, "The fleet".
  subject: '{{ or $labels.model "The fleet" }}{{ with $labels.version }} version {{ . }}{{ end }}',
  // The same without the fleet.
  model: '{{ $labels.model }}{{ with $labels.version }} version {{ . }}{{ end }}',
  number: '{{ $value | printf "%%.4g" }}',
  percent: '{{ $value | humanizePercentage }}',
  seconds: '{{ $value | humanizeDuration }}',

  // The first value of another series of the same cluster with the same labels, or nothing when there is none.
  look(record, labels, how='printf "%%.4g"', modifier='')::
    (import 'fit.libsonnet')(
      '{{ with printf "%(record)s{%(clusterIs)s%(matchers)s}%(modifier)s" %(clusterValue)s%(values)s | query }}{{ . | first | value | %(how)s }}{{ end }}', {
        record: record,
        matchers: std.join(',', [name + '=%%q' for name in labels]),
        modifier: modifier,
        values: std.join(' ', ['(print $labels.' + name + ')' for name in labels]),
        how: how,
      }
    ),

  local pending = 'with printf "sum by (%(model)s) (model_version:triton_requests_pending:sum{%(clusterIs)smodel=%%q}) > 0" %(clusterValue)s(print $labels.model) | query',
  local busy = 'with printf "max by (%(model)s) (model_version:tritonobs_workers_busy:ratio5m{%(clusterIs)smodel=%%q}) > %(busyRatio)s" %(clusterValue)s(print $labels.model) | query',
  local outages = 'with printf "count_over_time(replica:triton_outage_begins:info{%(clusterIs)s%(replicaLabel)s=%%q}[%(span3h)s]) >= 2" %(clusterValue)s(print $labels.%(replicaLabel)s) | query',
  local members = 'with printf "ALERTS{%(clusterIs)salertstate=\\"firing\\",pipeline=%%q,model!=%%q,alertname=~\\"Triton(Saturated|QueueWaitHigh|WorkerDead|StageSlow|ErrorReasonSurge|ErrorBudgetBurn.*|Model.*)\\"}" %(clusterValue)s(print $labels.pipeline) (print $labels.model) | query',
  local first = '{{ . | first | value | printf "%%.4g" }}',

  // Where requests to the model wait: how many, how busy its instances are, and what Triton cannot count then.
  waiting:
    '{{ ' + pending + ' }} ' + first + ' requests wait in its queue{{ ' + busy + ' }} and its model instances work {{ . | first | value | humanizePercentage }} of the time{{ end }}' +
    '; what a full queue refuses Triton counts nowhere, so callers may send more than that.{{ end }}',
  waiting_zh:
    '{{ ' + pending + ' }}队列中有 ' + first + ' 个请求在等待{{ ' + busy + ' }}，模型实例 {{ . | first | value | humanizePercentage }} 的时间在工作{{ end }}' +
    '；队列满时被拒的请求 Triton 不计，真实来量可能更大。{{ end }}',

  // How often a server went down, where it comes and goes.
  comes_and_goes:
    '{{ ' + outages + ' }} It comes and goes: {{ . | first | value }} outages in three hours, and this lasts until it has answered for an hour.{{ end }}',
  comes_and_goes_zh:
    '{{ ' + outages + ' }}它时好时坏：三小时内中断 {{ . | first | value }} 次；连续应答一小时后本告警才结束。{{ end }}',

  // How often something of a model came back (lib/again.libsonnet).
  local often(begins) = 'with printf "max(count_over_time(' + begins + '{%(clusterIs)smodel=%%q,version=%%q}[%(span3h)s])) >= 2" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
  returns(begins)::
    '{{ ' + often(begins) + ' }} It comes and goes: {{ . | first | value }} times in three hours, and this lasts until an hour has passed without it.{{ end }}',
  returns_zh(begins)::
    '{{ ' + often(begins) + ' }}它时有时无：三小时内 {{ . | first | value }} 次；连续一小时没有再出现后本告警才结束。{{ end }}',

  // Whose requests fail with this model's: pipelines that call it.
  local callers = 'with printf "group by (pipeline) (pipeline_stage_model:tritonobs_pipeline_calls:held{%(clusterIs)smodel=%%q})" %(clusterValue)s(print $labels.model) | query',
  called_by: '{{ ' + callers + ' }} Pipelines that call it suffer with it:{{ range . }} {{ .Labels.pipeline }};{{ end }} they have no page of their own for that.{{ end }}',
  called_by_zh: '{{ ' + callers + ' }}调用它的流水线同受影响：{{ range . }}{{ .Labels.pipeline }}；{{ end }}不再为此单独告警。{{ end }}',

  // What a forecast is compared with: a day earlier, where it is known.
  local grew = 'with printf "subject:triton_requests_offered:mean15m{%(clusterIs)smodel=%%q,version=%%q} offset %(span1d)s" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
  unexplained: '{{ ' + grew + ' }}Neither yesterday nor last week explains the growth.{{ else }}Prometheus knows no yesterday of it, so it may be the rise of every morning.{{ end }}',
  unexplained_zh: '{{ ' + grew + ' }}昨天和上周都解释不了这一增长。{{ else }}Prometheus 没有昨天的数据，也可能是每天早晨的正常上升。{{ end }}',

  // Whether the queue keeps the alert up: the last overflow was seen, what comes now is not.
  local kept = 'with printf "subject:tritonobs_limit_kept:info{%(clusterIs)smodel=%%q,version=%%q}" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
  kept: '{{ ' + kept + ' }} Its queue has been full since more came than that: what is refused Triton counts nowhere, so the overload goes on although fewer are counted.{{ end }}',
  kept_zh: '{{ ' + kept + ' }}自超限以来队列一直是满的：被拒的请求 Triton 不计，因此虽然计数较少，过载仍在继续。{{ end }}',

  // What fires for other models of the same pipeline and may be why: members are slow, full or dead before it is.
  causes:
    '{{ with $labels.pipeline }}{{ ' + members + ' }} Its pipeline has causes:{{ range . }} {{ .Labels.alertname }} of {{ .Labels.model }};{{ end }} look there first.{{ end }}{{ end }}',
  causes_zh:
    '{{ with $labels.pipeline }}{{ ' + members + ' }}同一流水线另有告警：{{ range . }}{{ .Labels.model }} 的 {{ .Labels.alertname }}；{{ end }}请先看那里。{{ end }}{{ end }}',
}
