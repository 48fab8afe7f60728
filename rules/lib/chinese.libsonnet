// What alerts say in Chinese, by alert: for robots whose language is zh. The English texts stand with their rules; the
// test that both are there, and that punctuation is Chinese, is tests/rules/test_chinese.py.
function(config)
  local say = (import 'phrases.libsonnet').say;
  // "detector 的版本 2", "detector"; "整个集群" without a model.
  local model = '{{ $labels.model }}{{ with $labels.version }} 版本 {{ . }}{{ end }}';
  local subject = '{{ with $labels.model }}{{ . }}{{ else }}整个集群{{ end }}{{ with $labels.version }} 版本 {{ . }}{{ end }}';
  local number = say.number;
  local percent = say.percent;
  local seconds = say.seconds;
  local limit = say.look('subject:tritonobs_qps_limit:held', ['model', 'version']);
  local tokens = say.look('subject_kind:tritonobs_tokens_per_second_limit:held', ['model', 'version', 'kind']);
  local yesterday = say.look('subject:triton_requests:rate5m', ['model', 'version'], modifier=' offset %(span1d)s');
  local yesterday_at = 'printf "subject:triton_requests:rate5m{%(clusterIs)smodel=%%q,version=\\"\\"} offset %(span1d)s" %(clusterValue)s(print $labels.model) | query';
  local budget = (import 'phrases.libsonnet').budget.chinese;
  local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel];
  local waited = (import 'phrases.libsonnet').waited(cluster).chinese;
  local burn(window) = {
    summary: model + ' 的 SLO {{ $labels.slo }} 消耗错误预算过快。',
    description: '最近 ' + window + ' 内，' + model + ' 有 ' + percent + ' 的请求未达到 {{ $labels.slo }}，且仍在继续' + budget +
                 '。' + waited + say.called_by_zh + say.causes_zh + '找出是哪个原因或阶段；若由发布引起，请回滚。',
  };
  local cards(one, several) =
    '{{ $labels.instance }} 上{{ if $labels.device }}的加速卡 {{ $labels.device }}（{{ $labels.vendor }}）' + one +
    '{{ else }}有 {{ $value }} 张加速卡（{{ $labels.vendor }}）' + several + '{{ end }}';
  local groups = '{{ with $labels.group }}规则组 {{ . }} {{ else }} {{ $value }} 个规则组{{ end }}';
  local tiers = { [tier.name]: tier.long for tier in config.burnTiers };
  {
    TritonQpsAboveLimit: {
      summary: subject + ' 的请求超过限额。',
      description: subject + ' 每秒到达 ' + number + ' 个请求，限额为 ' + limit + '。' + say.kept_zh + say.returns_zh('subject:tritonobs_limit_exceeded_begins:info') + say.waiting_zh + say.causes_zh + '找出超量的调用方并让其降速；若有余量，可扩容并用 `tritonobs limits set` 提高限额。',
    },
    TritonQpsNearLimit: {
      summary: subject + ' 的请求接近限额。',
      description: subject + ' 每秒到达 ' + number + ' 个请求，限额为 ' + limit + '。' + say.waiting_zh + '询问调用方的计划，提前扩容。明显低于此线满一小时后解除。',
    },
    TritonQpsSpike: {
      summary: subject + ' 出现远超限额的突发流量。',
      description: subject + ' 在两次抓取之间每秒到达 ' + number + ' 个请求，限额为 ' + limit + '；整分钟仍在限额之内。请调用方把突发分散，或确认队列承受得住。',
    },
    TritonQpsWillExceedLimit: {
      summary: subject + ' 的请求即将超过限额。',
      description: '若流量继续增长，{{ %(forecastSeconds)s | humanizeDuration }} 后 ' + subject + ' 每秒将到达 ' + number + ' 个请求，限额为 ' + limit + '。' + say.unexplained_zh + '请提前扩容，或与调用方协商。',
    },
    TritonLimitSourceLost: {
      summary: '限额{{ with $labels.source }}（来自 {{ . }}）{{ else }}和目标{{ end }}不再送达。',
      description: '{{ if $labels.source }}{{ $labels.instance }} 上的 tritonobs serve 无法从 {{ $labels.source }} 读取限额：沿用最后的值，修改不生效。原因见其日志；请检查地址、令牌和 API 服务器。{{ else }}没有 tritonobs_model_info%(cluster_zh)s到达 Prometheus。最后的限额和目标保留一小时，之后没有限额被监视。请重新启动 `tritonobs serve`，或加载 objectives.rules.yml。{{ end }}',
    },
    TritonLimitRefused: {
      summary: '以注解写的限额被拒绝。',
      description: '有 ' + number + ' 条注解不能作为限额：沿用各自最后的有效值，没有则无限额。{{ $labels.instance }} 上 tritonobs serve 的日志写明是哪个 Deployment 以及允许的写法。',
    },
    TritonLimitsDisagree: {
      summary: '两个来源的限额或目标不一致。',
      description: subject + ' 的同一限额或目标{{ with $labels.slo }}（{{ . }}）{{ end }}{{ with $labels.kind }}（{{ . }}）{{ end }}有两个值：较大的 ' + number + ' 生效。两个 `tritonobs serve`（或 serve 与规则文件）使用了不同的集群文件，请核对并停掉过时的一个。',
    },
    TritonTokensAboveLimit: {
      summary: model + ' 处理的 token 超过限额。',
      description: model + ' 每秒处理 ' + number + ' 个 {{ $labels.kind }}，限额为 ' + tokens + '。找出提示或回答很长的调用方并让其降速，或扩容后提高限额。',
    },
    TritonTokensNearLimit: {
      summary: model + ' 处理的 token 接近限额。',
      description: model + ' 每秒处理 ' + number + ' 个 {{ $labels.kind }}，限额为 ' + tokens + '。询问调用方的计划，提前扩容。',
    },
    TritonKvCacheFull: {
      summary: model + ' 的 KV 缓存已满，请求在等待空间。',
      description: '{{ $labels.%(replicaLabel)s }} 上 ' + model + ' 的 KV 缓存反复用到 ' + percent + '，且一直有请求在等待。把长提示分到别处或缩短，降低同时生成的数量，给缓存更多显存，或增加副本。',
    },
    TritonPreemptions: {
      summary: model + ' 把已经开始的请求退回。',
      description: model + ' 退回 ' + number + ' 个请求（vLLM 为每秒，TensorRT-LLM 为当前数）：它们的缓存被别的请求占用，已算出的部分要重算。降低同时处理的请求数（max_num_seqs），给缓存更多显存，或增加副本。',
    },
    TritonServerDown: {
      summary: '无法抓取 {{ $labels.%(replicaLabel)s }} 上的 Triton。',
      description: 'Prometheus 已有 %(serverDownFor)s 没有从 {{ $labels.%(replicaLabel)s }} 得到指标：服务器已停止、不可达，或忙得无法应答。它的模型状态未知。' + say.comes_and_goes_zh + '请查看进程是否在运行以及它的日志。',
    },
    TritonRequestsUncounted: {
      summary: '{{ $labels.%(replicaLabel)s }} 有超过一小时没有被抓取，其间的请求未计入。',
      description: 'Prometheus 超过 %(gapWindow)s 没有得到 {{ $labels.%(replicaLabel)s }} 的样本，其间它处理了 ' + number + ' 个请求：其中失败的不计入任何错误预算，也没有任何记录包含它们。请查明为何没有抓取，并在本周期的报告中补上从别处得知的情况。',
    },
    TritonServersLost: {
      summary: 'Prometheus 不再抓取任何 Triton 服务器。',
      description: 'Prometheus 没有任何抓取目标%(cluster_zh)s：服务发现返回空列表，job 被改名、丢失标签，或发送样本的 agent 已不在。所有模型的情况都不得而知，其他告警也不会触发。请查看 Prometheus 的 Service discovery 页面。',
    },
    TritonModelUnloaded: {
      summary: model + ' 没有在任何服务器上加载。',
      description: '集群文件承诺了 ' + model + '，但没有一台应答的服务器加载了它，调用方得到的错误 Triton 完全不计。' + say.returns_zh('subject:tritonobs_model_unloaded_begins:info') + '请在服务器日志中查找卸载或加载失败的原因，或将其从集群文件中去掉。',
    },
    TritonVersionNotLoaded: {
      summary: model + ' 未加载，其他版本已加载。',
      description: '集群文件承诺了 ' + model + '，但没有服务器加载它，同一模型的其他版本已加载并收到请求。上线之前这是正常的；上线之后请从集群文件中去掉旧版本。指定该版本的调用方会得到错误。',
    },
    TritonModelMissing: {
      summary: model + ' 从 {{ $labels.%(replicaLabel)s }} 上消失了。',
      description: model + ' 在 {{ $labels.%(replicaLabel)s }} 上加载到 {{ $value | humanizeTimestamp }} 为止，现在没有了，而其他服务器仍有。仍发往该处的请求得到 404，Triton 不计。请重新加载，或把该服务器移出负载均衡。',
    },
    TritonWorkerDead: {
      summary: model + ' 的一个工作进程已死亡，模型却显示就绪。',
      description: '{{ $labels.%(replicaLabel)s }} 上模型实例 {{ $labels.model_instance }} 的进程很久没有心跳；Triton 仍称模型就绪，发给它的请求会失败或挂起。' + say.returns_zh('model_instance:tritonobs_worker_dead_begins:info') + '请重新加载模型；若进程卡死，请重启服务器。原因见其日志。',
    },
    TritonTrafficStopped: {
      summary: '不再有人请求 ' + model + '。',
      description: model + ' 已加载，工作进程正常，Prometheus 也能看到，但十分钟没有任何请求{{ with ' + yesterday_at + ' }}，昨天此时每秒 {{ . | first | value | printf "%%.4g" }} 个{{ else }}；昨天此时的情况 Prometheus 不知道：若是每天运行一次的任务，从第二天起不再告警{{ end }}。请检查调用方、负载均衡和 DNS。恢复请求后解除，最迟一天。',
    },
    TritonTrafficDrop: {
      summary: model + ' 的请求远少于平日此时。',
      description: model + ' 每秒收到 ' + number + ' 个请求；昨天此时为 ' + yesterday + '。有调用方停止了，或在到达 Triton 之前就失败了：请检查调用方、负载均衡和网络。',
    },
    TritonErrorBudgetBurnFast: burn(tiers.fast),
    TritonErrorBudgetBurnMedium: burn(tiers.medium),
    TritonErrorBudgetBurnSlow: burn(tiers.slow),
    TritonErrorBudgetBurnLong: burn(tiers.long),
    TritonErrorBudgetExhausted: {
      summary: model + ' 的 SLO {{ $labels.slo }} 已没有错误预算。',
      description: '最近 %(sloPeriod)s 内，' + model + ' 未达到 {{ $labels.slo }} 的请求超过目标所允许的数量' + budget + '。在预算转正之前，请暂停该模型的高风险变更。',
    },
    TritonSliMissing: {
      summary: model + ' 有 ' + percent + ' 的请求没有按 SLO {{ $labels.slo }} 测量。',
      description: model + ' 有 ' + percent + ' 的请求没有按其 SLO {{ $labels.slo }} 测量：工作进程没有为该阶段计时，Triton 没有追踪它，或阈值不是它们的桶边界。请按版本对照集群文件与 tritonobs_stage_duration_seconds 的桶。',
    },
    TritonQueueWaitHigh: {
      summary: '对 ' + model + ' 的请求在处理前等待很久。',
      description: '对 ' + model + ' 的请求平均等待 ' + seconds + ' 才有空闲的模型实例。请增加模型实例或副本，让批更大，或缩短等待凑批的时间。',
    },
    TritonSaturated: {
      summary: model + ' 的所有模型实例都在忙，等待的请求越来越多。',
      description: model + ' 的模型实例有 ' + percent + ' 的时间在工作，等待的请求越来越多。请增加模型实例或副本，或让调用方降速。',
    },
    TritonBatchInefficient: {
      summary: '对 ' + model + ' 的请求在等待，却被逐个执行。',
      description: model + ' 每次执行平均只含 ' + number + ' 个请求，而其他请求在等待。请打开动态批处理，或提高 max_batch_size 和首选批大小。',
    },
    TritonStageSlow: {
      summary: model + ' 的阶段 {{ $labels.stage }} 超出预算。',
      description: model + ' 每二十个请求就有一个仅在阶段 {{ $labels.stage }} 就花费超过 ' + seconds + '。请查看它收到的输入大小以及最近的变更。',
    },
    TritonErrorReasonSurge: {
      summary: model + ' 因 {{ $labels.reason }} 失败的次数大增。',
      description: '{{ with $labels.stage }}阶段 {{ . }}，{{ end }}' + model + ' 每秒因 {{ $labels.reason }} 失败 ' + number + ' 次，远多于之前一小时。请查看是谁发出这些请求，以及最近发布了什么。',
    },
    TritonInvalidInputSurge: {
      summary: '调用方发来无法使用的输入。',
      description: model + ' 的阶段 {{ $labels.stage }} 每秒以 {{ $labels.reason }} 拒绝 ' + number + ' 个请求，它每秒共收到 ' + say.look('model_version:triton_requests:rate5m', ['model', 'version']) + ' 个：这是调用方的问题，不计入任何错误预算。' + say.returns_zh('model_version_stage_reason:tritonobs_invalid_surge_begins:info') + '请从调用该模型的服务的日志中找出是哪个客户端，Triton 不知道调用方是谁；若刚有发布，请查看新版本接受什么输入。',
    },
    TritonCacheCollapse: {
      summary: model + ' 的响应缓存几乎不再起作用。',
      description: '对 ' + model + ' 的请求中，缓存只应答 ' + percent + '，不到一小时前的 {{ %(cacheDropRatio)s | humanizePercentage }}。请查看是否有新的输入、缓存过小，或刚刚重新加载。',
    },
    TritonModelReloaded: {
      summary: model + ' 在 {{ $labels.%(replicaLabel)s }} 上被重新加载。',
      description: '{{ $labels.%(replicaLabel)s }} 上 ' + model + ' 的工作进程是新的：模型被重新加载、重启，或增加了模型实例。之后的头几个请求会较慢；请比较前后的错误和延迟。',
    },
    TritonMetricsEmpty: {
      summary: '{{ $labels.%(replicaLabel)s }} 上的 Triton 以空页面应答抓取。',
      description: '{{ $labels.%(replicaLabel)s }} 的指标页是空的，或被 metric_relabel_configs 全部丢弃。Triton 对 /metrics 以外的任何路径都返回空页面：请检查抓取配置中的 metrics_path。',
    },
    TritonCountersFrozen: {
      summary: 'Triton 没有计入 ' + model + ' 应答的任何请求。',
      description: model + ' 自报每秒应答 ' + number + ' 个请求，Triton 的计数器却不动。服务器启动时带了 --metrics-config counter_latencies=false：请去掉。',
    },
    TritonStageMetricsFailing: {
      summary: model + ' 在 {{ $labels.%(replicaLabel)s }} 上的阶段指标正在丢失。',
      description: '{{ $labels.%(replicaLabel)s }} 上的 ' + model + ' 每秒有 ' + number + ' 条阶段记录未能交出。服务器日志写明第一条：无限增长的标签、不是数字的值，或与其他模型冲突的名称。',
    },
    TritonRestartLoop: {
      summary: '{{ $labels.%(replicaLabel)s }} 上的服务器或工作进程反复重启。',
      description: '{{ $labels.%(replicaLabel)s }} 上的{{ with $labels.model_instance }}模型实例 {{ . }} {{ else }}服务器{{ end }}在一刻钟内多次启动。日志写明它为何结束：内存、原生代码崩溃，或探针失败。',
    },
    TritonServerScrapedTwice: {
      summary: '同一服务器以两个地址被抓取。',
      description: '{{ if $labels.%(replicaLabel)s }}{{ $labels.%(replicaLabel)s }} 的页面在 %(twinWindow)s 内 ' + number + ' 次与另一台服务器精确到微秒完全相同{{ else }}同一个 ' + model + ' 出现了 ' + number + ' 次：{{ with $labels.loaded_in }}多个页面上的加载时间同为 {{ . }} 秒{{ else }}多个页面上的请求耗时精确到微秒完全相同{{ end }}{{ end }}，它的请求被重复计算，速率和限额都不正确。请核对 Prometheus 的抓取目标。',
    },
    TritonReplicaSlow: {
      summary: model + ' 在 {{ $labels.%(replicaLabel)s }} 上比别处慢。',
      description: '对 ' + model + ' 的请求在 {{ $labels.%(replicaLabel)s }} 上的耗时是其他副本的 ' + number + ' 倍。请查看该机器的负载、频率、温度和邻居，或将其摘除。',
    },
    TritonHostMemoryPressure: {
      summary: '{{ $labels.%(replicaLabel)s }} 的内存即将用尽。',
      description: '{{ $labels.%(replicaLabel)s }} 的主机内存或 Triton 的锁页内存池已使用 ' + percent + '。请找出不断增长的工作进程，或增加内存；否则内核很快会终止进程。',
    },
    TritonAcceleratorMemoryPressure: {
      summary: '{{ $labels.instance }} 上加速卡的显存即将用尽。',
      description: cards('已使用 ' + percent + ' 的显存', '已使用超过 {{ %(acceleratorMemoryRatio)s | humanizePercentage }} 的显存') + '：下一次加载或更大的批可能失败。请移走一个模型，或减少预留。',
    },
    TritonAcceleratorFault: {
      summary: '加速卡报告自身故障。',
      description: cards('报告故障：' + say.look('device:accelerator_fault:code', ['device'], 'printf "错误码 %%.0f"'), '报告故障') + '。其上的请求可能失败或卡住。把该服务器移出服务，按厂商文档查错误码，重置或更换。',
    },
    TritonAcceleratorThrottled: {
      summary: '加速卡自行降频。',
      description: cards('', '') + '已有数分钟因过热或供电不足而低于应有的速度。查看温度、风扇、电源和机柜里的邻居。',
    },
    TritonAcceleratorSaturated: {
      summary: '{{ $labels.instance }} 上一张加速卡已连续满载一刻钟。',
      description: '{{ $labels.instance }} 上的加速卡 {{ $labels.device }}（{{ $labels.vendor }}）最近 15 分钟有 ' + percent + ' 的时间在工作。批处理任务这样正常；若队列也在变长，请增加加速卡。',
    },
    Watchdog: {
      summary: '告警链路正常。',
      description: '这条告警始终触发，其值为 {{ $value }}。一旦收不到它，就说明 Prometheus、Alertmanager 或通往您的链路断了。',
    },
    TritonobsServeDown: {
      summary: 'tritonobs serve 没有应答。',
      description: 'Prometheus 无法抓取 {{ $labels.instance }}：钉钉消息发不出去，限额保留一小时。请重新启动 `tritonobs serve`；等待的消息由 Alertmanager 保留。',
    },
    TritonobsFleetFileInvalid: {
      summary: 'tritonobs serve 拒绝当前的集群文件。',
      description: '{{ $labels.instance }} 上的集群文件有错误，沿用最后的有效版本，之后的修改不生效。请对它执行 `tritonobs validate`。',
    },
    TritonobsDeliveryFailing: {
      summary: '发给机器人 {{ $labels.robot }} 的消息无法送达。',
      description: '有告警在等待，而钉钉机器人 {{ $labels.robot }} 拒收消息或不可达。指标 tritonobs_delivery_errors_total 写明错误码；`tritonobs notify test {{ $labels.robot }}` 可复现。',
    },
    TritonobsRobotMuted: {
      summary: '钉钉已禁言机器人 {{ $labels.robot }}。',
      description: '机器人 {{ $labels.robot }}（连同其他使用者）一分钟内发送超过 20 条消息，被禁言十分钟；告警在等待。请给告警单独的机器人，或再加一个。',
    },
    TritonobsTaskFailing: {
      summary: 'tritonobs serve 的一个任务失败。',
      description: '{{ $labels.instance }} 上的 tritonobs serve 一再重启任务 {{ $labels.task }}。该任务的工作没有完成，其余照常。serve 的 /readyz 说明何时开始及原因。',
    },
    TritonobsTracesLost: {
      summary: '追踪数据丢失。',
      description: '{{ $labels.instance }} 上的追踪接收器丢失了部分数据（原因 {{ $labels.reason }}）：来自追踪的分位数及其 SLO 依据的请求变少，或收集器缺少部分追踪。',
    },
    TritonobsTracesIncomplete: {
      summary: '追踪所代表的请求少于 Triton 的计数。',
      description: '最近一小时，{{ $labels.%(replicaLabel)s }} 上 {{ $labels.model }} 的追踪所代表的请求比 Triton 计数的少 {{ $value | humanizePercentage }}：服务器与接收器之间丢失了批次，或样本与采样率不符。来自追踪的分位数及其 SLO 不包含这些请求。',
    },
    TritonPoolShort: {
      summary: '服务器池中的服务器少于应有数量。',
      description: '命名空间 {{ $labels.namespace }} 中的{{ with $labels.deployment }} Deployment {{ . }}{{ end }}{{ with $labels.statefulset }} StatefulSet {{ . }}{{ end }} 应有 {{ $value }} 台服务器，就绪的更少，其余服务器承担它的流量。对缺少的 Pod 执行 `kubectl describe` 可知原因：没有资源、没有镜像或探针失败。',
    },
    TritonAutoscalerBlind: {
      summary: '自动扩缩没有可依据的指标。',
      description: '命名空间 {{ $labels.namespace }} 中的 HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} 得不到指标值，保持不动：流量增加也不会增加服务器。`kubectl describe hpa` 给出指标名，请在 Prometheus 中查询它。',
    },
    TritonAutoscalerAtMaximum: {
      summary: '自动扩缩已到上限。',
      description: '命名空间 {{ $labels.namespace }} 中的 HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} 已需要允许的全部 {{ $value }} 台服务器：流量再增加也不会增加服务器。请提高 maxReplicas，否则请求将会等待。',
    },
    TritonAutoscalerFlapping: {
      summary: '自动扩缩反复扩容又缩容。',
      description: '命名空间 {{ $labels.namespace }} 中的 HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} 在一小时内有 {{ $value }} 次在扩容与缩容之间转向。启动中的服务器不处理请求，退出的服务器要交出请求。请让缩容更晚、更慢（`behavior.scaleDown`），或改用波动更小的指标。',
    },
    TritonobsNobodyDelivers: {
      summary: '没有 tritonobs serve 在发送告警。',
      description: '有回答的 tritonobs serve 中 {{ $value }} 个在发送：每个都在等待 Lease 的持有者，并回答 503：没有任何钉钉消息发出。日志说明为何取不到 Lease，多半是缺少 Lease 的权限。Alertmanager 会保留等待的告警。',
    },
    TritonobsRulesFailing: {
      summary: '{{ $labels.instance }} 上 tritonobs 的规则执行失败。',
      description: 'Prometheus 无法执行' + groups + '：它的记录缺失，它的告警无人监视。错误见 Status 下的 Rules 页面。',
    },
    TritonobsShardMissing: {
      summary: '一个 Prometheus 分片的记录缺失。',
      description: '分片 {{ $labels.%(shardLabel)s }}%(cluster_zh)s没有给出记录：其服务器和模型的情况未知，相关告警保持不动。请查看该 Prometheus 是否运行、是否在计算规则、全局 Prometheus 能否访问它。',
    },
    TritonobsAgentMissing: {
      summary: '一个抓取 Triton 服务器的 agent 缺失。',
      description: 'agent {{ $labels.%(shardLabel)s }}%(cluster_zh)s没有应答：它所抓取的服务器及其模型的情况未知，相关告警保持不动。请查看该 vmagent 是否运行、日志里写了什么。',
    },
    TritonobsRulesLate: {
      summary: 'Prometheus 跳过了 tritonobs 规则的计算。',
      description: '{{ $labels.instance }} 上的 Prometheus 跳过了' + groups + '的计算，因为上一次耗时超过间隔：告警会晚到，记录会有空缺。请给 Prometheus 更多资源，或调大 evaluation_interval。',
    },
  }
