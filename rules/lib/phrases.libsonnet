// Parts of messages: sentences about the alert's subject, and links.
local fit = import 'fit.libsonnet';

// Pieces of Prometheus templates that several alerts use. `%` is doubled, because alert texts are filled from the config.
local say =
  {
    // "detector version 2", "detector" for all versions, "The fleet".
    subject: '{{ or $labels.model "The fleet" }}{{ with $labels.version }} version {{ . }}{{ end }}',
    // The same without the fleet.
    model: '{{ $labels.model }}{{ with $labels.version }} version {{ . }}{{ end }}',
    subject_zh: '{{ with $labels.model }}{{ . }}{{ else }}整个集群{{ end }}{{ with $labels.version }} 版本 {{ . }}{{ end }}',
    model_zh: '{{ $labels.model }}{{ with $labels.version }} 版本 {{ . }}{{ end }}',
    number: '{{ $value | printf "%%.4g" }}',
    percent: '{{ $value | humanizePercentage }}',
    seconds: '{{ $value | humanizeDuration }}',

    // The first value of `record` for the same cluster and the same `labels`, formatted with `how`; empty where there is
    // none. `modifier` is an offset.
    look(record, labels, how='printf "%%.4g"', modifier='')::
      fit(
        '{{ with printf "%(record)s{%(clusterIs)s%(matchers)s}%(modifier)s" %(clusterValue)s%(values)s | query }}{{ . | first | value | %(how)s }}{{ end }}', {
          record: record,
          matchers: std.join(',', [name + '=%%q' for name in labels]),
          modifier: modifier,
          values: std.join(' ', ['(print $labels.' + name + ')' for name in labels]),
          how: how,
        }
      ),

    // The limit of requests of the alert's subject.
    limit: self.look('subject:tritonobs_qps_limit:held', ['model', 'version']),

    local pending = 'with printf "sum by (%(model)s) (model_version:triton_requests_pending:sum{%(clusterIs)smodel=%%q}) > 0" %(clusterValue)s(print $labels.model) | query',
    local busy = 'with printf "max by (%(model)s) (model_version:tritonobs_workers_busy:ratio5m{%(clusterIs)smodel=%%q}) > %(busyRatio)s" %(clusterValue)s(print $labels.model) | query',
    local outages = 'with printf "count_over_time(replica:triton_outage_begins:info{%(clusterIs)s%(replicaLabel)s=%%q}[%(span3h)s]) >= 2" %(clusterValue)s(print $labels.%(replicaLabel)s) | query',
    local members = 'with printf "ALERTS{%(clusterIs)salertstate=\\"firing\\",pipeline=%%q,model!=%%q,alertname=~\\"Triton(Saturated|QueueWaitHigh|WorkerDead|StageSlow|ErrorReasonSurge|ErrorBudgetBurn.*|Model.*)\\"}" %(clusterValue)s(print $labels.pipeline) (print $labels.model) | query',
    local first = '{{ . | first | value | printf "%%.4g" }}',

    // How many requests wait in the queue and how busy the model instances are. Triton does not count what a full queue
    // rejects.
    waiting:
      '{{ ' + pending + ' }} ' + first + ' requests wait in its queue{{ ' + busy + ' }} and its model instances are {{ . | first | value | humanizePercentage }} busy{{ end }}' +
      '; Triton does not count requests that a full queue rejects, so clients may send more than that.{{ end }}',
    waiting_zh:
      '{{ ' + pending + ' }}队列中有 ' + first + ' 个请求在等待{{ ' + busy + ' }}，模型实例 {{ . | first | value | humanizePercentage }} 的时间在工作{{ end }}' +
      '；队列满时被拒的请求 Triton 不计，真实来量可能更大。{{ end }}',

    // How often a server went down, if at least twice in three hours.
    comes_and_goes:
      '{{ ' + outages + ' }} It is flapping: {{ . | first | value }} outages in three hours. The alert resolves after an hour without an outage.{{ end }}',
    comes_and_goes_zh:
      '{{ ' + outages + ' }}反复触发（抖动）：三小时内中断 {{ . | first | value }} 次；连续一小时没有中断后告警恢复。{{ end }}',

    // How often the condition of an alert began, if at least twice in three hours (lib/again.libsonnet).
    local often(begins) = 'with printf "max(count_over_time(' + begins + '{%(clusterIs)smodel=%%q,version=%%q}[%(span3h)s])) >= 2" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
    returns(begins)::
      '{{ ' + often(begins) + ' }} It is flapping: {{ . | first | value }} times in three hours. The alert resolves after an hour without a recurrence.{{ end }}',
    returns_zh(begins)::
      '{{ ' + often(begins) + ' }}反复触发（抖动）：三小时内 {{ . | first | value }} 次；连续一小时没有再出现后告警恢复。{{ end }}',

    // The pipelines that call this model and are affected.
    local callers = 'with printf "group by (pipeline) (pipeline_stage_model:tritonobs_pipeline_calls:held{%(clusterIs)smodel=%%q})" %(clusterValue)s(print $labels.model) | query',
    called_by: '{{ ' + callers + ' }} Affected pipelines:{{ range . }} {{ .Labels.pipeline }};{{ end }} they do not page separately.{{ end }}',
    called_by_zh: '{{ ' + callers + ' }}调用它的流水线同受影响：{{ range . }}{{ .Labels.pipeline }}；{{ end }}不再为此单独告警。{{ end }}',
    // The same of a model that is not loaded: an ensemble is not loaded without it either.
    lacked_by: '{{ ' + callers + ' }} Pipelines that call it fail or are not loaded either:{{ range . }} {{ .Labels.pipeline }};{{ end }} load this model first.{{ end }}',
    lacked_by_zh: '{{ ' + callers + ' }}调用它的流水线会失败或同样未加载：{{ range . }}{{ .Labels.pipeline }}；{{ end }}请先加载本模型。{{ end }}',

    // Whether the growth of a forecast was compared with yesterday.
    local grew = 'with printf "subject:triton_requests_offered:mean15m{%(clusterIs)smodel=%%q,version=%%q} offset %(span1d)s" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
    unexplained: '{{ ' + grew + ' }}Neither yesterday nor last week explains the growth.{{ else }}Prometheus has no data of yesterday, so it may be the usual morning rise.{{ end }}',
    unexplained_zh: '{{ ' + grew + ' }}昨天和上周都解释不了这一增长。{{ else }}Prometheus 没有昨天的数据，也可能是每天早晨的正常上升。{{ end }}',

    // Whether a full queue keeps the alert firing: an overflow was seen, and the traffic that Triton counts now is below the
    // limit.
    local kept = 'with printf "subject:tritonobs_limit_kept:info{%(clusterIs)smodel=%%q,version=%%q}" %(clusterValue)s(print $labels.model) (print $labels.version) | query',
    kept: '{{ ' + kept + ' }} Its queue has been full since the limit was exceeded: Triton does not count rejected requests, so the overload continues although the counted rate is lower.{{ end }}',
    kept_zh: '{{ ' + kept + ' }}自超限以来队列一直是满的：被拒的请求 Triton 不计，因此虽然计数较少，过载仍在继续。{{ end }}',

    // Alerts that fire for other models of the same pipeline and may be the cause.
    causes:
      '{{ with $labels.pipeline }}{{ ' + members + ' }} Possible causes in its pipeline:{{ range . }} {{ .Labels.alertname }} of {{ .Labels.model }};{{ end }} look there first.{{ end }}{{ end }}',
    causes_zh:
      '{{ with $labels.pipeline }}{{ ' + members + ' }}同一流水线另有告警：{{ range . }}{{ .Labels.model }} 的 {{ .Labels.alertname }}；{{ end }}请先看那里。{{ end }}{{ end }}',
  };

// What is left of an error budget, after a colon. An overspent budget has no percentage and no time to exhaustion. The text
// is empty until the budget is recorded.
local budget =
  local row(record) =
    'printf "' + record + '{%(clusterIs)smodel=%%q,version=%%q,slo=%%q}" %(clusterValue)s(print $labels.model) (print $labels.version) (print $labels.slo) | query';
  local filled(words) = fit(
    '{{ with %(remaining)s }}%(colon)s{{ if gt (. | first | value) 0.0 }}%(left)s{{ with %(end)s }}%(gone)s{{ end }}{{ else }}%(over)s{{ end }}{{ end }}',
    {
      remaining: row('slo:period_error_budget_remaining:ratio'),
      end: row('slo:time_to_exhaustion:seconds'),
    } + words
  );
  // Empty where the burn rate is not known.
  local times(words) = fit(
    '{{ with %(burn)s }}' + words + '{{ end }}',
    { burn: row('slo:period_burn_rate:ratio'), number: '{{ . | first | value | printf "%%.3g" }}' }
  );
  {
    english: filled({
      colon: ': ',
      left: '{{ . | first | value | humanizePercentage }} of the %(sloPeriod)s error budget is left',
      gone: ', exhausted in {{ . | first | value | humanizeDuration }} at this rate',
      over: 'the %(sloPeriod)s error budget is spent' + times(' %(number)s times over'),
    }),
    chinese: filled({
      colon: '：',
      left: '%(sloPeriod)s 的错误预算还剩 {{ . | first | value | humanizePercentage }}',
      gone: '，按此速度将在 {{ . | first | value | humanizeDuration }} 后耗尽',
      over: '%(sloPeriod)s 的错误预算已用尽' + times('，共用去 %(number)s 倍'),
    }),
  };

// The mean time in Triton's queue, for alerts about an SLO with a threshold on a stage: the threshold excludes that time,
// and Triton exports no distribution of it.
local waited =
  function(cluster) {
    local matching(names) = std.join(',', [name + '=%%q' for name in names]),
    local of_model = cluster + ['model'],
    local of_slo = of_model + ['version', 'slo'],
    local filled(sentence) = std.join('', [
      '{{ with printf "max(model_version:triton_queue_duration_seconds:mean5m{',
      matching(of_model),
      '}) and on () subject_slo:tritonobs_latency_target_seconds:held{stage!=\\"traces:request\\",',
      matching(of_slo),
      '}"',
      std.join('', [' (print $labels.' + name + ')' for name in of_model + of_slo]),
      ' | query }}',
      sentence,
      '{{ end }}',
    ]),
    english: filled(" The threshold covers only the time inside the model; in Triton's queue requests wait {{ . | first | value | humanizeDuration }} on average."),
    chinese: filled('阈值只针对模型内部的时间；请求在 Triton 队列中平均等待 {{ . | first | value | humanizeDuration }}。'),
  };

// Links with the alert's labels: to a Grafana board, or to the record in Prometheus.
local boards =
  function(config) {
    // A label that the alert lacks selects all values: an empty value would empty the board.
    local variable(name) = 'var-' + (if name == config.clusterLabel then 'cluster' else name) + '={{ with $labels.' + name + ' }}{{ . | urlquery }}{{ else }}$__all{{ end }}',
    local question(record, labels) =
      if labels == [] then record
      else
        std.join('', [
          '{{ printf ',
          '"' + record + '{' + std.join(',', [name + '=%q' for name in labels]) + '}"',
          std.join('', [' (print $labels.' + name + ')' for name in labels]),
          ' | urlquery }}',
        ]),

    // `uid` is the board's without its prefix, `names` are the labels that it takes as variables beside the cluster, and
    // `record` shows the same in Prometheus.
    link(uid, names, record)::
      local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel];
      local labels = cluster + names;
      local chosen(labels) = if labels == [] then '' else '?' + std.join('&', std.map(variable, labels));
      if config.grafanaUrl != '' then
        local board = config.grafanaUrl + '/d/tritonobs-' + uid + chosen(labels);
        // An alert about the fleet has no model, and a board about one model would be empty.
        if std.member(labels, 'model') && std.member(['model', 'pipeline'], uid)
        then '{{ if $labels.model }}' + board + '{{ else }}' + config.grafanaUrl + '/d/tritonobs-fleet' + chosen(cluster) + '{{ end }}'
        else board
      else
        std.join('', [config.prometheusUrl, '/graph?g0.tab=0&g0.expr=', question(record, labels)]),
  };
{ say: say, budget: budget, waited: waited, boards: boards }
