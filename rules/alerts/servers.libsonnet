// The health of servers and of the measurement itself.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local on_model(record) = boards.link('model', ['model', 'version'], record);
  local hosts = boards.link('hosts', [], 'up');
  local devices = boards.link('accelerators', ['device'], 'device:accelerator_memory_used:bytes');
  local device = 'Accelerator {{ $labels.device }} ({{ $labels.vendor }}) on {{ $labels.instance }}';
  text.group('alerts.servers', config.stageInterval, [
    text.alert('TritonMetricsEmpty', 'warning', |||
      (scrape_samples_scraped{%(triton)s} == 0) and (up{%(triton)s} == 1)
    |||, {
      summary: 'Triton on {{ $labels.%(replicaLabel)s }} answers scrapes with an empty page.',
      description: 'The metrics page of {{ $labels.%(replicaLabel)s }} is empty: any path but /metrics gives such a page. Compare metrics_path in the scrape configuration.',
      board: hosts,
    }, wait='1m'),
    text.alert('TritonCountersFrozen', 'warning', text.owned(|||
      (sum by (%(subject)s) (avg_over_time(model_version_outcome:tritonobs_requests:rate%(short)s[5m])) > 0)
      and on (%(subject)s)
      (model_version:triton_requests:rate5m == 0)
    |||), {
      summary: 'Triton counts none of the requests that ' + say.model + ' answers.',
      description: say.model + ' answers ' + say.number +
                   " requests/s by its own account, but Triton's counters stand still. The server was started with --metrics-config counter_latencies=false: take that away.",
      board: on_model('model_version:triton_requests:rate5m'),
    }, wait='5m'),
    text.alert('TritonStageMetricsFailing', 'warning', text.owned(|||
      sum by (%(subject)s, %(replica)s) (
        rate(tritonobs_flush_errors_total{%(triton)s}[%(medium)s])
        or
        rate(tritonobs_flush_dropped_total{%(triton)s}[%(medium)s])
      ) > 0
    |||), {
      summary: 'Stage metrics of ' + say.model + ' get lost on {{ $labels.%(replicaLabel)s }}.',
      description: say.model + ' on {{ $labels.%(replicaLabel)s }} could not hand over ' + say.number +
                   " stage records a second. The server's log names the first of them: a label that grows without end, a value that is no number, or a name that another model uses differently.",
      board: on_model('tritonobs_flush_dropped_total'),
    }, keep='15m'),
    text.alert('TritonRestartLoop', 'warning', |||
      (changes(up{%(triton)s}[15m]) >= 2 * %(restartsPerQuarterHour)d - 1)
      or on (%(replica_only)s)
      (
        count by (%(subject)s, %(replica)s, model_instance) (
          label_replace(
            tritonobs_heartbeat_timestamp_seconds{%(triton)s}
              unless
            tritonobs_heartbeat_timestamp_seconds{%(triton)s} offset 15m,
            "model_instance", "$1", "worker", "(.+)-[0-9]+-[0-9a-f]+"
          )
        ) >= %(restartsPerQuarterHour)d
      )
    |||, {
      summary: '{{ with $labels.model }}A worker of {{ . }}{{ else }}Triton{{ end }} on {{ $labels.%(replicaLabel)s }} restarts again and again.',
      description: '{{ with $labels.model_instance }}Model instance {{ . }}{{ else }}The server{{ end }} on {{ $labels.%(replicaLabel)s }} was started at least %(restartsPerQuarterHour)d times in a quarter of an hour. Its log says what ends it: memory, a crash in native code, a failing probe.',
      board: hosts,
    }, keep='10m'),
    text.alert('TritonHostMemoryPressure', 'warning', |||
      (nv_cpu_memory_used_bytes{%(triton)s} / nv_cpu_memory_total_bytes{%(triton)s} > %(hostMemoryRatio)s)
      or
      (
        nv_pinned_memory_pool_used_bytes{%(triton)s} / (nv_pinned_memory_pool_total_bytes{%(triton)s} > 0)
          > %(hostMemoryRatio)s
      )
    |||, {
      summary: 'The memory of {{ $labels.%(replicaLabel)s }} is nearly used up.',
      description: say.percent + " of the host memory, or of Triton's pool of pinned memory, on {{ $labels.%(replicaLabel)s }} is in use. Find the worker that grows, or give the server more; soon the kernel ends processes.",
      board: hosts,
    }, wait='5m'),
    text.alert('TritonAcceleratorMemoryPressure', 'warning', |||
      device:accelerator_memory_used:bytes / (device:accelerator_memory_total:bytes > 0) > %(acceleratorMemoryRatio)s
    |||, {
      summary: 'The memory of an accelerator on {{ $labels.instance }} is nearly used up.',
      description: device + ' uses ' + say.percent + ' of its memory: the next load of a model or larger batch may fail. Move a model elsewhere, or reserve less.',
      board: devices,
    }, wait='10m'),
    text.alert('TritonAcceleratorSaturated', 'info', |||
      avg_over_time(device:accelerator_utilization:ratio[15m]) > %(acceleratorBusyRatio)s
    |||, {
      summary: 'An accelerator on {{ $labels.instance }} has worked without a break for a quarter of an hour.',
      description: device + ' was busy ' + say.percent + ' of the last 15 minutes. That is fine for batch work; where queues grow too, add accelerators.',
      board: devices,
    }, wait='5m'),
  ])
