// Traced requests: how long they take, the share of all requests that they represent, and traces that are lost. What SLOs count
// of traces is of the heart (lib/counters.libsonnet, records/slo_requests.libsonnet).
local fit = import '../../lib/fit.libsonnet';
local shards = import '../../lib/shards.libsonnet';
function(config)
  local text = (import '../../lib/text.libsonnet')(config);
  local boards = (import '../../lib/phrases.libsonnet').boards(config);

  // Quantiles of requests and of their queue time, for any model, from a weighted sample of traces. A quantile is the
  // geometric middle of its bucket, at most 5 % from the true value. Linear interpolation would be up to 10 % off where all
  // requests take equally long.
  local quantiles_of_requests =
    local traced = 'model_version_phase:tritonobs_trace_duration_seconds:';
    local quantiles = [['p50', '0.5'], ['p95', '0.95'], ['p99', '0.99']];
    // The fewest samples for a quantile: one in a hundred is above the P99, so it needs a hundred. A median of any number is
    // shown.
    local samples = { p50: 0, p95: 20, p99: 100 };
    [
      text.record('model_version_phase_le:tritonobs_trace_duration_seconds_bucket:rate%(medium)s', |||
        sum by (%(subject)s, phase, le) (
          rate(tritonobs_trace_duration_seconds_bucket{%(traces)s, phase=~"request|queue"}[%(medium)s])
        )
      |||),
      text.record('model_version:tritonobs_trace_samples:rate5m', |||
        sum by (%(subject)s) (rate(tritonobs_trace_samples_total{%(traces)s}[%(span5m)s]))
      |||),
    ] + [
      text.record(traced + quantile[0] + '_5m', fit(|||
        0.0001 * 10 ^ (
          (
            ceil(
              log10(
                clamp_min(
                  histogram_quantile(
                    %(ratio)s,
                    avg_over_time(model_version_phase_le:tritonobs_trace_duration_seconds_bucket:rate%(medium)s[%(span5m)s])
                  ),
                  0.0001
                ) / 0.0001
              ) * 24 - 0.0001
            ) - 0.5
          ) / 24
        )%(enough)s
      |||, {
        ratio: quantile[1],
        enough: if samples[quantile[0]] == 0 then '' else fit(
          '\n  and on (%(subject)s)\n(model_version:tritonobs_trace_samples:rate5m * %(seconds5m)s > %(least)s)',
          { least: std.toString(samples[quantile[0]] - 0.5) }
        ),
      }))
      for quantile in quantiles
    ] + [
      // From traces where there are any, else from stages, which exclude the queue. The label `source` names which.
      text.record('model_version_phase:tritonobs_request_seconds:' + quantile[0] + '_5m', fit(|||
        label_replace(%(traced)s, "source", "traces", "", "")
        or
        label_replace(
          label_replace(
            max by (%(subject)s) (model_version_stage:tritonobs_stage_duration_seconds:%(name)s_5m{stage="total"}),
            "source", "stages_without_queue", "", ""
          )
          unless on (%(subject)s)
          %(traced)s{phase="request"},
          "phase", "request", "", ""
        )
      |||, { traced: traced + quantile[0] + '_5m', name: quantile[0] }))
      for quantile in quantiles
    ];

  // What traces represent compared with what Triton counted, by model and server. A lost batch of spans is in no other
  // counter.
  //
  // Only requests that both sides count are compared. The receiver exports a rate only for models that no pipeline calls.
  // The rate must have been the same for 5 m, and no receiver may have restarted. A trace arrives seconds after Triton's
  // count, so counts are read two evaluations late, and traces are the larger value of now and two evaluations ago.
  local share =
    local increase = (import '../../lib/counters.libsonnet').increase;
    // Requests that Triton may count as completed, with all labels of the receiver.
    local requests = 'tritonobs_trace_requests_total{%(traces)s, outcome!="rejected"}';
    local fresh = (import '../../lib/counters.libsonnet').traced.fresh;
    local answered = increase.written(requests, fresh);
    local where = '%(model)s, %(replica)s';
    local succeeded = 'nv_inference_request_success{%(triton)s}';
    // This group is evaluated at other moments than the one that records new pages, so it looks for them itself. The record of
    // pages that were read ends an evaluation before the earlier moment, and `up` has what comes between.
    local completed = increase.written(succeeded, if config.recordsAtOnce then fit(|||
      on (%(replica_only)s) (
        %(pages_new)s
      )
    |||, { pages_new: text.pages_new_written(|||
      up{%(triton)s} unless last_over_time(target:triton_page_read:bool[%(gapKnownWindow)s]%(writtenBefore)s)
    |||) }) else 'on (%(replica_only)s) %(pagesNew)s');
    // The receiver's label for a server is always `replica`.
    local named(expr) =
      if config.replicaLabel == 'replica' then expr
      else fit('label_replace(%(expr)s, "%(label)s", "$1", "replica", "(.+)")', { expr: expr, label: config.replicaLabel });
    local over(series, offset='') = 'sum_over_time(' + series + '[%(span1h)s]' + offset + ')';
    local counted = 'replica_model:triton_requests:increase';
    local seen = 'replica_model:tritonobs_requests_traced:increase';
    local due = 'replica_model:triton_requests_traceable:increase';
    local rate = 'tritonobs_trace_rate{%(traces)s}';
    local steady = 'replica_model:tritonobs_trace_rate:steady';
    local spans = 'tritonobs_trace_spans_total{%(traces)s}';
    {
      counted: [
        text.record(counted, text.given(counted, shards.grown, fit(
          'sum by (%(where)s) (\n  %(each)s\n)',
          { where: where, each: completed }
        ))) + shards.parts([
          text.part(counted, shards.grown, fit(
            'sum by (%(where)s) (\n  %(each)s\n)',
            { where: where, each: completed }
          )),
        ]),
        // The sampling rate of models and servers, where it was the same for 5 m and no receiver restarted.
        text.record(steady, fit(|||
          (
            max by (%(model)s, replica) (max_over_time(%(rate)s[%(span5m)s])) > 0
              ==
            min by (%(model)s, replica) (min_over_time(%(rate)s[%(span5m)s]))
              and on (%(model)s, replica)
            %(rate)s offset %(span5m)s
          )
            unless on (%(cluster)s)
          (
            resets(%(spans)s[%(span5m)s]) > 0
            or
            (%(spans)s unless %(spans)s offset %(span5m)s)
          )
        |||, { rate: rate, spans: spans })),
        text.record(seen, fit(|||
          sum by (%(where)s) (
            %(answered)s
          )
            and on (%(where)s)
          %(steady)s
        |||, { where: where, answered: named('(\n' + answered + '\n)'), steady: named(steady) })),
        // Requests that should have been traced: completed ones, and failures inside the model.
        text.record(due, fit(|||
          (
            %(counted)s offset %(sloFreshWindow)s
              + on (%(where)s)
            (
              sum by (%(where)s) (
                replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"} offset %(sloFreshWindow)s
              )
              or
              %(counted)s offset %(sloFreshWindow)s * 0
            )
          )
            and on (%(where)s)
          %(steady)s
            and on (%(where)s)
          %(before)s
        |||, { where: where, counted: counted, steady: named(steady), before: named(steady + ' offset %(sloFreshWindow)s') })),
      ],
      compared: [
        text.record('replica_model:triton_requests_traceable:sum1h', over(due)),
        text.record('replica_model:tritonobs_requests_traced:ratio1h', fit(|||
          (
            %(now)s >= %(before)s
            or
            %(before)s
            or
            %(now)s
          )
            / (%(due)s > 0)
          or
          (%(due)s > 0) * 0
        |||, {
          now: over(seen),
          before: over(seen, ' offset %(sloFreshWindow)s'),
          due: over(due),
        })),
        text.record('replica_model:tritonobs_trace_rate:max1h', named(fit('max by (%(model)s, replica) (max_over_time(%(rate)s[%(span1h)s]))', { rate: rate }))),
      ],
    };

  // Traces that the receiver loses, and those that never reach it.
  local alerts = [
    // A body holds many spans, so a few lost bodies matter. Spans of requests without an end occur now and then, so they
    // must be a share of all spans.
    text.alert('TritonobsTracesLost', 'warning', |||
      group by (%(receiver)s, reason) (
        increase(tritonobs_trace_dropped_total{%(traces)s, reason!="incomplete"}[%(span5m)s]) > 5
        or
        (
          increase(tritonobs_trace_dropped_total{%(traces)s, reason="incomplete"}[%(span5m)s])
            > on (%(receiver)s) group_left ()
          0.1 * increase(tritonobs_trace_spans_total{%(traces)s}[%(span5m)s])
        )
        or
        label_replace(
          increase(tritonobs_trace_forwarded_total{%(traces)s, outcome!="sent"}[%(span5m)s]) > 0,
          "reason", "collector", "", ""
        )
      )
    |||, {
      summary: 'Traces are lost.',
      description: 'The receiver of traces on {{ $labels.instance }} drops some of the traces that it receives (reason {{ $labels.reason }}): percentiles from traces, and SLOs on them, are computed from fewer requests, or the collector lacks some.',
      summary_zh: '追踪数据丢失。',
      description_zh: '{{ $labels.instance }} 上的追踪接收器丢失了部分数据（原因 {{ $labels.reason }}）：来自追踪的分位数及其 SLO 依据的请求变少，或收集器缺少部分追踪。',
      board: boards.link('delivery', [], 'tritonobs_trace_dropped_total'),
    }, wait='5m'),
    // A batch that is lost on its way is in no counter of the receiver. The allowance is the error of sampling, which is 0
    // where every request is traced.
    text.alert('TritonobsTracesIncomplete', 'warning', text.owned_whole(fit(|||
      (1 - replica_model:tritonobs_requests_traced:ratio1h)
        >
      %(untracedRatio)s
        + (
          %(untracedNoise)s * sqrt(
            replica_model:triton_requests_traceable:sum1h
              * on (%(model)s, %(replica)s)
            clamp_min(replica_model:tritonobs_trace_rate:max1h - 1, 0)
          ) + %(untracedRequests)s
        )
          / on (%(model)s, %(replica)s)
        replica_model:triton_requests_traceable:sum1h
    |||, {})), {
      summary: 'Traces represent fewer requests than Triton counted.',
      description: 'Traces represent {{ $value | humanizePercentage }} fewer requests to {{ $labels.model }} on {{ $labels.%(replicaLabel)s }} than Triton counted in the last hour: batches are lost between the server and the receiver, or the sampling rate is not the one that the server reports. Percentiles from traces, and SLOs on them, lack these requests.',
      summary_zh: '追踪所代表的请求少于 Triton 的计数。',
      description_zh: '最近一小时，{{ $labels.%(replicaLabel)s }} 上 {{ $labels.model }} 的追踪所代表的请求比 Triton 计数的少 {{ $value | humanizePercentage }}：服务器与接收器之间丢失了批次，或样本与采样率不符。来自追踪的分位数及其 SLO 不包含这些请求。',
      board: boards.link('model', ['model'], 'replica_model:tritonobs_requests_traced:ratio1h'),
    }, wait='10m'),
  ];
  {
    'records.stages': [text.group('traces', config.stageInterval, quantiles_of_requests)],
    'records.slo': [
      text.group('traces.counted', config.sloInterval, share.counted),
      text.group('traces.compared', config.slowInterval, share.compared),
    ],
    'alerts.tritonobs': alerts,
  }
