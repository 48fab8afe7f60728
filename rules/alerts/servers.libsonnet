// Alerts about servers, and about the shards and agents that scrape them.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local say = (import '../lib/phrases.libsonnet').say;

  // The health of servers and of their metrics.
  local servers =
    local crowd = (import '../lib/servers.libsonnet').crowd;
    local on_model(record) = boards.link('model', ['model', 'version'], record);
    local hosts = boards.link('hosts', [], 'up');
    local devices = boards.link('accelerators', ['device'], 'device:accelerator_memory_used:bytes');
    local device = 'Accelerator {{ $labels.device }} ({{ $labels.vendor }}) on {{ $labels.instance }}';
    local of_host(rows) = crowd(rows, '%(cards)s');
    // The beginning of a text about one card, or about several of one host (`crowd`).
    local cards_zh(one, several) =
      '{{ $labels.instance }} 上{{ if $labels.device }}的加速卡 {{ $labels.device }}（{{ $labels.vendor }}）' + one +
      '{{ else }}有 {{ $value }} 张加速卡（{{ $labels.vendor }}）' + several + '{{ end }}';
    local cards(one, several) =
      '{{ if $labels.device }}' + device + one +
      '{{ else }}{{ $value }} accelerators ({{ $labels.vendor }}) on {{ $labels.instance }}' + several + '{{ end }}';
    // Parts that a shard evaluates, because they read series of servers.
    local metrics_empty = text.part('replica:triton_page_empty:info', shards.max, |||
      (scrape_samples_post_metric_relabeling{%(triton)s} == 0) and (up{%(triton)s} == 1)
    |||);
    local stage_metrics_failing = text.part('replica_model_version:tritonobs_records_lost:rate%(medium)s', shards.max, |||
      sum by (%(subject)s, %(replica)s) (
        rate(tritonobs_flush_errors_total{%(triton)s}[%(medium)s])
        or
        rate(tritonobs_flush_dropped_total{%(triton)s}[%(medium)s])
      ) > 0
    |||);
    local restart_loop = text.part('replica:triton_restarts:count15m', shards.max, |||
      (
        sum_over_time(replica:triton_restarted:bool[%(span15m)s])
          >= on (%(replica_only)s)
        (
          %(restartsPerQuarterHour)s - (max by (%(replica_only)s) (changes(up{%(triton)s}[%(span15m)s])) >= bool 2 * %(restartsPerQuarterHour)s - 1)
        )
      )
      or on (%(replica_only)s)
      (
        (changes(replica:triton_load_seconds:max[%(span15m)s]) >= %(restartsPerQuarterHour)s - 1)
          and on (%(replica_only)s)
        (changes(up{%(triton)s}[%(span15m)s]) >= 2 * %(restartsPerQuarterHour)s - 1)
      )
      or on (%(replica_only)s)
      (
        count by (%(subject)s, %(replica)s, model_instance) (
          label_replace(
            (
              tritonobs_heartbeat_timestamp_seconds{%(triton)s}
                unless
              tritonobs_heartbeat_timestamp_seconds{%(triton)s} offset %(span15m)s
            )
            and on (%(replica_only)s)
            (up{%(triton)s} offset %(span15m)s == 1),
            "model_instance", "$1", "worker", "(.+)-[0-9]+-[0-9a-f]+"
          )
        ) >= %(restartsPerQuarterHour)s
      )
    |||);
    local many = text.part(
      'replica:triton_requests_many:info',
      shards.max,
      'group by (%(replica_only)s) (replica:triton_requests_succeeded:sum >= 100)'
    );
    local host_memory_pressure = text.part('replica:triton_host_memory_used:ratio', shards.max, |||
      (nv_cpu_memory_used_bytes{%(triton)s} / nv_cpu_memory_total_bytes{%(triton)s} > %(hostMemoryRatio)s)
      or
      (
        nv_pinned_memory_pool_used_bytes{%(triton)s} / nv_pinned_memory_pool_total_bytes{%(triton)s}
          > %(hostMemoryRatio)s
      )
    |||);
    text.group('alerts.servers', config.stageInterval, [
      text.alert('TritonMetricsEmpty', 'warning', metrics_empty.here, {
        summary: 'A scrape of a Triton server yields no metrics.',
        description: 'The metrics endpoint of {{ $labels.%(replicaLabel)s }} returns nothing, or metric_relabel_configs drop all of it. Triton returns an empty body for any path but /metrics: check metrics_path in the scrape configuration.',
        summary_zh: '抓取 {{ $labels.%(replicaLabel)s }} 上的 Triton 得不到任何指标。',
        description_zh: '{{ $labels.%(replicaLabel)s }} 的指标端点没有返回任何内容，或全部被 metric_relabel_configs 丢弃。Triton 对 /metrics 以外的任何路径都返回空内容：请检查抓取配置中的 metrics_path。',
        board: hosts,
      }, wait='1m') + shards.parts([metrics_empty]),
      // Increases are computed over gaps of up to an hour only.
      text.alert('TritonRequestsUncounted', 'info', 'replica:triton_requests_uncounted:sum > 0', {
        summary: 'Requests were served during a scrape gap of more than an hour.',
        description: '{{ $labels.%(replicaLabel)s }} served ' + say.number + ' requests during a scrape gap of more than %(gapWindow)s: no record counts them, and no error budget is charged for those that failed. Find out why it was not scraped, and add the missing data to the SLO report of this period.',
        summary_zh: '{{ $labels.%(replicaLabel)s }} 有超过一小时没有被抓取，其间的请求未计入。',
        description_zh: 'Prometheus 超过 %(gapWindow)s 没有得到 {{ $labels.%(replicaLabel)s }} 的样本，其间它处理了 ' + say.number + ' 个请求：其中失败的不计入任何错误预算，也没有任何记录包含它们。请查明为何没有抓取，并在本周期的 SLO 报告中补上缺失的数据。',
        board: hosts,
      }, keep='1h'),
      text.alert('TritonCountersFrozen', 'warning', text.owned_version(|||
        (sum by (%(subject)s) (avg_over_time(model_version_outcome:tritonobs_requests:rate%(short)s[%(span5m)s])) > 0)
        and on (%(subject)s)
        (model_version:triton_requests:rate5m == 0)
      |||), {
        summary: 'Triton does not count the requests that a model answers.',
        description: say.model + ' answers ' + say.number +
                     " requests/s according to its own metrics, but Triton's counters do not increase. Remove --metrics-config counter_latencies=false from the start command of the server.",
        summary_zh: 'Triton 没有计入 ' + say.model_zh + ' 应答的任何请求。',
        description_zh: say.model_zh + ' 自报每秒应答 ' + say.number + ' 个请求，Triton 的计数器却不动。服务器启动时带了 --metrics-config counter_latencies=false：请去掉。',
        board: on_model('model_version:triton_requests:rate5m'),
      }, wait='5m'),
      text.alert('TritonStageMetricsFailing', 'warning', text.owned_version(stage_metrics_failing.here), {
        summary: 'Stage metrics of a model are lost.',
        description: say.model + ' on {{ $labels.%(replicaLabel)s }} loses ' + say.number +
                     " stage records per second. The server's log has the first of them: a label with unbounded cardinality, a value that is not a number, or a metric name that another model uses with another type.",
        summary_zh: say.model_zh + ' 在 {{ $labels.%(replicaLabel)s }} 上的阶段指标正在丢失。',
        description_zh: '{{ $labels.%(replicaLabel)s }} 上的 ' + say.model_zh + ' 每秒丢失 ' + say.number + ' 条阶段记录。服务器日志写明第一条：无限增长的标签、不是数字的值，或与其他模型冲突的名称。',
        board: on_model('tritonobs_flush_dropped_total'),
      }, keep='15m') + shards.parts([stage_metrics_failing]),
      // A lost scrape is not a restart; a reset of the counters is. A server that dies before its first request shows only
      // as down, so with five changes of `up` one reset fewer is enough. Starts that answer as many requests as the one before
      // show no reset, but other times of loads. New workers count only where their server was up without them.
      text.alert('TritonRestartLoop', 'warning', restart_loop.here, {
        summary: 'A server or worker is in a restart loop.',
        description: '{{ with $labels.model_instance }}Model instance {{ . }}{{ else }}The server{{ end }} on {{ $labels.%(replicaLabel)s }} was started at least %(restartsPerQuarterHour)s times in a quarter of an hour. Its log has the reason, such as memory, a crash in native code or a failing probe.',
        summary_zh: '{{ $labels.%(replicaLabel)s }} 上的服务器或工作进程反复重启。',
        description_zh: '{{ $labels.%(replicaLabel)s }} 上的{{ with $labels.model_instance }}模型实例 {{ . }} {{ else }}服务器{{ end }}在一刻钟内多次启动。日志写明它为何结束：内存、原生代码崩溃，或探针失败。',
        board: hosts,
      }, keep='10m') + shards.parts([restart_loop]),
      // The same process under two addresses counts each request twice. Equal sums of microseconds after a hundred requests
      // identify it, or an equal load time. The times of a few requests may be equal by chance, and workers' names are equal
      // in containers.
      text.alert('TritonServerScrapedTwice', 'warning', fit(|||
        (replica:triton_scraped_twice:count >= 3 and on (%(replica_only)s) %(many)s)
        or
        (
          model_version:triton_scraped_twice:count
          unless on (%(cluster)s)
          (replica:triton_scraped_twice:count >= 3 and on (%(replica_only)s) %(many)s)
        )
      |||, { many: many.here }), {
        summary: 'One server is scraped under two addresses.',
        description: '{{ if $labels.%(replicaLabel)s }}The metrics of {{ $labels.%(replicaLabel)s }} were identical to those of another target, to the microsecond, ' + say.number + ' times in %(twinWindow)s.{{ else }}The same ' + say.model + ' is seen ' + say.number + ' times: {{ if $labels.loaded_in }}it took the same {{ $labels.loaded_in }} s to load{{ else }}its requests took the same time to the microsecond{{ end }} on more than one target.{{ end }} Its requests are counted that many times, so rates and comparisons with limits are wrong. Compare the targets in Prometheus: one server has two addresses or names.',
        summary_zh: '同一服务器以两个地址被抓取。',
        description_zh: '{{ if $labels.%(replicaLabel)s }}{{ $labels.%(replicaLabel)s }} 的指标在 %(twinWindow)s 内 ' + say.number + ' 次与另一个抓取目标精确到微秒完全相同{{ else }}同一个 ' + say.model_zh + ' 出现了 ' + say.number + ' 次：{{ with $labels.loaded_in }}多个抓取目标上的加载时间同为 {{ . }} 秒{{ else }}多个抓取目标上的请求耗时精确到微秒完全相同{{ end }}{{ end }}，它的请求被重复计算，速率和限额都不正确。请核对 Prometheus 的抓取目标。',
        board: hosts,
      }, wait='1m') + shards.parts([many]),
      text.alert('TritonHostMemoryPressure', 'warning', host_memory_pressure.here, {
        summary: 'The memory of a server is nearly exhausted.',
        description: say.percent + " of the host memory, or of Triton's pool of pinned memory, on {{ $labels.%(replicaLabel)s }} is in use. Find the worker that grows, or give the server more memory, before the kernel kills processes.",
        summary_zh: '{{ $labels.%(replicaLabel)s }} 的内存即将用尽。',
        description_zh: '{{ $labels.%(replicaLabel)s }} 的主机内存或 Triton 的锁页内存池已使用 ' + say.percent + '。请找出不断增长的工作进程，或增加内存；否则内核很快会终止进程。',
        board: hosts,
      }, wait='5m') + shards.parts([host_memory_pressure]),
      text.alert('TritonAcceleratorMemoryPressure', 'warning', of_host(|||
        device:accelerator_memory_used:bytes / device:accelerator_memory_total:bytes > %(acceleratorMemoryRatio)s
      |||), {
        summary: 'The memory of an accelerator is nearly exhausted.',
        description: cards(
          ' uses ' + say.percent + ' of its memory',
          ' use over {{ %(acceleratorMemoryRatio)s | humanizePercentage }} of their memory'
        ) + ': the next model load or larger batch may fail. Move a model elsewhere, or reserve less.',
        summary_zh: '{{ $labels.instance }} 上加速卡的显存即将用尽。',
        description_zh: cards_zh('已使用 ' + say.percent + ' 的显存', '已使用超过 {{ %(acceleratorMemoryRatio)s | humanizePercentage }} 的显存') + '：下一次加载或更大的批可能失败。请移走一个模型，或减少预留。',
        board: devices,
        // When a fourth card joins, the alert of the host waits, and those of the cards go on until it has begun.
      }, wait='10m', keep='10m'),
      // XID 13, 31, 43 and 45 are errors of programs, not of the card.
      text.alert('TritonAcceleratorFault', 'warning', of_host(|||
        (
          (device:accelerator_fault:code > 0 != 13 != 31 != 43 != 45)
          and
          (changes(device:accelerator_fault:code[%(span10m)s]) > 0)
        )
        or
        (device:accelerator_healthy:bool == 0)
        or
        (device:accelerator_ecc_uncorrected:increase1h > 0)
      |||), {
        summary: 'An accelerator reports a fault.',
        description: cards(
          ' reports a fault: ' + say.look('device:accelerator_fault:code', ['device'], 'printf "error code %%.0f"'),
          ' report faults'
        ) + '. Requests on it may fail or hang. Drain the server, look the code up in the documentation of the vendor, and reset or replace the accelerator.',
        summary_zh: '加速卡报告故障。',
        description_zh: cards_zh('报告故障：' + say.look('device:accelerator_fault:code', ['device'], 'printf "错误码 %%.0f"'), '报告故障') + '。其上的请求可能失败或卡住。把该服务器移出服务，按厂商文档查错误码，重置或更换。',
        board: devices,
      }, keep='15m'),
      text.alert('TritonAcceleratorThrottled', 'warning', of_host(|||
        (min_over_time(device:accelerator_throttled:bool[%(span5m)s]) == 1)
        or
        (
          (
            device:accelerator_clock:hertz{vendor="ascend"}
              < on (%(device)s, vendor)
            %(acceleratorClockRatio)s * max_over_time(device:accelerator_clock:hertz{vendor="ascend"}[%(span1d)s])
          )
          and on (%(device)s, vendor)
          (device:accelerator_utilization:ratio > 0.5)
        )
      |||), {
        summary: 'An accelerator is throttled.',
        description: cards(' has been throttled', ' have been throttled') + ' for several minutes because of heat or insufficient power. Check the temperature, the fans, the power supply and the other machines in the rack.',
        summary_zh: '加速卡被降频。',
        description_zh: cards_zh('', '') + '已有数分钟因过热或供电不足而低于应有的速度。请查看温度、风扇、电源和机柜里的其他机器。',
        board: devices,
      }, wait='5m', keep='5m'),
      text.alert('TritonAcceleratorSaturated', 'info', |||
        avg_over_time(device:accelerator_utilization:ratio[%(span15m)s]) > %(acceleratorBusyRatio)s
      |||, {
        summary: 'An accelerator was almost fully utilised for 15 minutes.',
        description: device + ' had a mean utilisation of ' + say.percent + ' over 15 minutes. That is normal for batch work. If queues grow, too, add accelerators.',
        summary_zh: '{{ $labels.instance }} 上一张加速卡已连续满载一刻钟。',
        description_zh: '{{ $labels.instance }} 上的加速卡 {{ $labels.device }}（{{ $labels.vendor }}）最近 15 分钟有 ' + say.percent + ' 的时间在工作。批处理任务这样正常；若队列也在变长，请增加加速卡。',
        board: devices,
      }, wait='5m'),
    ]);

  // A replica compared with the others. It is in the group of its record, which is evaluated every 2 m.
  local replicas =
    [
      text.alert('TritonReplicaSlow', 'warning', text.owned_version(|||
        (replica_model_version:triton_request_duration_seconds_per_peers:ratio5m > %(skewRatio)s)
        and on (%(subject)s, %(replica)s)
        (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(span5m)s]) * %(seconds5m)s >= %(skewRequests)s)
        and on (%(subject)s, %(replica)s)
        (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(medium)s]) > 0)
      |||), {
        summary: 'A model is slower on one server than on the others.',
        description: 'A request to ' + say.model + ' takes ' + say.number +
                     ' times as long on {{ $labels.%(replicaLabel)s }} as on the other replicas. Check the load, clock speed, temperature and other workloads of that machine, or drain it.',
        summary_zh: say.model_zh + ' 在 {{ $labels.%(replicaLabel)s }} 上比别处慢。',
        description_zh: '对 ' + say.model_zh + ' 的请求在 {{ $labels.%(replicaLabel)s }} 上的耗时是其他副本的 ' + say.number + ' 倍。请查看该机器的负载、频率、温度和同机的其他负载，或将其摘除。',
        board: boards.link('model', ['model', 'version'], 'replica_model_version:triton_request_duration_seconds:mean5m'),
      }, wait='10m'),
    ];

  // Shards and agents that are missing. A shard records that it evaluates; an agent is scraped.
  local scrapers =
    local missing = shards.parts_of(config).missing;
    local by_tier = {
      all: if missing == '' then [] else [
        text.alert('TritonobsAgentMissing', 'critical', missing, {
          summary: 'An agent that scrapes Triton servers is missing.',
          description: 'Agent {{ $labels.%(shardLabel)s }}%(of_cluster)s does not respond. The servers that it scrapes and their models are not monitored, and alerts about them are on hold. Check whether that vmagent is running, and read its log.',
          summary_zh: '一个抓取 Triton 服务器的 agent 缺失。',
          description_zh: 'agent {{ $labels.%(shardLabel)s }}%(cluster_zh)s没有应答：它所抓取的服务器及其模型的情况未知，相关告警保持不动。请查看该 vmagent 是否运行、日志里写了什么。',
          board: boards.link('hosts', [], 'up'),
        }, wait='1m'),
      ],
      shard: [
        text.record('cluster:tritonobs_shard:info', 'vector(1)') + shards.max,
      ],
      global: [
        text.alert('TritonobsShardMissing', 'critical', missing, {
          summary: 'The records of a shard are missing.',
          description: 'Prometheus shard {{ $labels.%(shardLabel)s }}%(of_cluster)s provides no records. Its servers and their models are not monitored, and alerts about them are on hold. Check whether that Prometheus is running, evaluates its rules, and can be read by the global one.',
          summary_zh: '一个 Prometheus 分片的记录缺失。',
          description_zh: '分片 {{ $labels.%(shardLabel)s }}%(cluster_zh)s没有给出记录：其服务器和模型的情况未知，相关告警保持不动。请查看该 Prometheus 是否运行、是否在计算规则、全局 Prometheus 能否访问它。',
          board: boards.link('delivery', [], 'shard:cluster:tritonobs_shard:info'),
        }, wait='1m'),
      ],
    };
    text.group('alerts.shards', config.evaluationInterval, by_tier[config.tier]);
  { servers: servers, replicas: replicas, scrapers: scrapers }
