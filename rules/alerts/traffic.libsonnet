// Alerts about traffic, and about the models and workers that should answer it.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local say = (import '../lib/phrases.libsonnet').say;
  local lost_label = if config.clusterLabel == '' then { english: '', chinese: '' } else {
    english: 'targets lost the label `' + config.clusterLabel + '`, ',
    chinese: '抓取目标丢失标签 `' + config.clusterLabel + '`，',
  };

  // Four causes of missing traffic have separate alerts: no client sends requests, Prometheus does not scrape the server,
  // the model is not loaded, or its worker is dead. Each alert is silent in the other three cases.
  local traffic =
    local again = (import '../lib/again.libsonnet').returning(config);
    // A server that was down must answer for five minutes; after a second outage within three hours, for an hour.
    local down = fit(|||
      %(down)s
      or
      last_over_time(replica:triton_outage:info[%(span5m)s])
      or
      %(held)s
    |||, { held: again.down.held, down: text.given('replica:triton_down:info', shards.max, (import '../lib/servers.libsonnet').down.down_of(config)) });
    local answers = text.part('cluster:triton_answers:info', shards.max, 'group by (%(cluster)s) (up{%(triton)s} == 1)');
    local scraped = text.part('replica:triton_scraped:info', shards.max, 'group by (%(replica_only)s) (up{%(triton)s})');
    // Servers of a missing shard or agent may still exist, so their clusters are excluded.
    local parts = shards.parts_of(config);
    local targets =
      text.targets.here +
      if parts.missing == '' then '' else fit(|||

        unless on (%(cluster)s)
        group by (%(cluster)s) (
          (
            %(blind)s
          )
          or
          (
            %(missing)s
          )
        )
      |||, { blind: parts.blind, missing: parts.gone });
    // Versions of the fleet file that no server has, in a cluster that answers. A server that had the version and is
    // unreachable may still have it.
    local missing = fit(|||
      subject:tritonobs_model_info:held{version!=""}
        unless on (%(subject)s)
      model_version:triton_requests_succeeded:rate%(short)s
        and on (%(cluster)s)
      %(answers)s
        unless on (%(subject)s)
      model_version:triton_servers_unreachable:count
        unless on (%(cluster)s)
      replica:triton_starting:info
    |||, { answers: answers.here });
    local board = boards.link('model', ['model', 'version'], 'subject:triton_requests:rate5m');
    // Models with less than `dropRatio` of their rate `before`, where that was at least `silenceRequests` a minute.
    local fewer(before) = fit(|||
      (
        sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
          < on (%(model)s)
        %(dropRatio)s * (subject:triton_requests:rate5m{model!="", version=""} offset %(before)s >= %(silenceRequests)s / 60)
      )
    |||, { before: text.span(before) });
    // Model instances without a heartbeat. A removed instance leaves its series behind: it completes nothing, while the
    // model completes requests on that server and has had no backend failure for a quarter of an hour. Such instances are
    // excluded. With few requests, those of 5 m are counted, once the heartbeat has been missing for a quarter of an hour.
    // An instance that completes requests without a heartbeat is partly dead and stays in.
    local dead = |||
      (model_instance:tritonobs_worker_alive:bool == 0) + 1
      unless on (%(subject)s, %(replica)s, model_instance)
      (
        (
          (
            model_instance:tritonobs_worker_alive:bool
              and on (%(subject)s, %(replica)s)
            (replica_model_version:triton_requests_succeeded:rate%(short)s * %(shortSeconds)s >= %(silenceRequests)s / 2)
          )
          or
          (
            (max_over_time(model_instance:tritonobs_worker_alive:bool[%(span15m)s]) == 0)
              and on (%(subject)s, %(replica)s)
            (avg_over_time(replica_model_version:triton_requests_succeeded:rate%(short)s[%(span5m)s]) * %(seconds5m)s >= %(silenceRequests)s)
          )
        )
          and on (%(subject)s)
        (avg_over_time(model_version_reason:triton_requests_failed:rate%(short)s{reason="BACKEND"}[%(span15m)s]) == 0)
          unless on (%(subject)s, %(replica)s, model_instance)
        model_instance:tritonobs_worker_answers:info
      )
    |||;
    // An ensemble is unloaded with any model that it calls, some seconds earlier: the page is about that model.
    local with_member = fit(|||
      label_replace(
        group by (%(pipeline)s) (
          pipeline_stage_model:tritonobs_pipeline_calls:held
            unless on (%(model)s)
          model_version:triton_requests_succeeded:rate%(short)s
        ),
        "model", "$1", "pipeline", "(.*)"
      )
    |||, {});
    // Versions of the fleet file that no server has. Where other versions of the model are loaded, it counts only if the
    // model gets far fewer requests than before; otherwise they have replaced it.
    local unloaded = fit(|||
      (
        %(missing)s
          unless on (%(model)s)
        %(with_member)s
      )
      unless on (%(model)s)
      (
        group by (%(model)s) (model_version:triton_requests_succeeded:rate%(short)s)
          unless on (%(model)s)
        (
          %(soon)s
          or
          %(later)s
        )
      )
    |||, { missing: missing, with_member: with_member, soon: fewer('5m'), later: fewer('20m') });
    {
      // In the group of the records that they read.
      again: again.dead.records(dead) + again.unloaded.records(unloaded) + [
        text.alert('TritonModelUnloaded', 'critical', again.unloaded.alert(unloaded), {
          summary: 'A model version of the fleet file is not loaded on any server.',
          description: 'The fleet file lists ' + say.model +
                       ', but no reachable server has it loaded. Its clients get errors, which Triton does not count.' + say.lacked_by + say.returns('subject:tritonobs_model_unloaded_begins:info') + " The servers' logs have the reason why it was unloaded or failed to load. If that was intended, remove it from the fleet file.",
          summary_zh: say.model_zh + ' 没有在任何服务器上加载。',
          description_zh: '集群文件列有 ' + say.model_zh + '，但没有一台可达的服务器加载了它，调用方得到的错误 Triton 完全不计。' + say.lacked_by_zh + say.returns_zh('subject:tritonobs_model_unloaded_begins:info') + '请在服务器日志中查找卸载或加载失败的原因，或将其从集群文件中去掉。',
          board: board,
        }, wait='1m', keep='5m') + shards.parts([answers]),
        text.alert('TritonWorkerDead', 'critical', text.owned_version(again.dead.alert(dead)), {
          summary: 'A worker is dead although Triton calls its model ready.',
          description: 'The process of model instance {{ $labels.model_instance }} of ' + say.model + ' on {{ $labels.%(replicaLabel)s }} has had no heartbeat for over {{ %(mediumSeconds)s | humanizeDuration }}. Triton still calls the model ready, and requests to it fail or hang.' + say.returns('model_instance:tritonobs_worker_dead_begins:info') + " Reload the model, or restart the server if the worker hangs; Triton's log has the reason.",
          summary_zh: say.model_zh + ' 的一个工作进程已死亡，模型却显示就绪。',
          description_zh: '{{ $labels.%(replicaLabel)s }} 上模型实例 {{ $labels.model_instance }} 的进程已超过 {{ %(mediumSeconds)s | humanizeDuration }} 没有心跳；Triton 仍称模型就绪，发给它的请求会失败或挂起。' + say.returns_zh('model_instance:tritonobs_worker_dead_begins:info') + '请重新加载模型；若进程卡死，请重启服务器。原因见其日志。',
          board: boards.link('model', ['model', 'version'], 'model_version:tritonobs_workers:count'),
        }, wait='15s', keep='5m'),
      ],
      soon: text.group('alerts.traffic', config.evaluationInterval, [
        text.alert('TritonServerDown', 'critical', down, {
          summary: 'A Triton server cannot be scraped.',
          description: 'Prometheus has received no metrics from {{ $labels.%(replicaLabel)s }} for %(serverDownFor)s: the server is down, unreachable, or too busy to respond. Its models are not monitored.' + say.comes_and_goes + ' Check whether it is running, and read its log.',
          summary_zh: '无法抓取 {{ $labels.%(replicaLabel)s }} 上的 Triton。',
          description_zh: 'Prometheus 已有 %(serverDownFor)s 没有从 {{ $labels.%(replicaLabel)s }} 得到指标：服务器已停止、不可达，或忙得无法应答。它的模型状态未知。' + say.comes_and_goes_zh + '请查看进程是否在运行以及它的日志。',
          board: boards.link('hosts', [], 'up'),
        }, wait=config.serverDownFor),
        // All servers of a cluster at once: they have left service discovery, so no `up` is 0.
        text.alert('TritonServersLost', 'critical', fit(|||
          group by (%(cluster)s) (last_over_time(cluster:tritonobs_known:info[%(span1h)s] offset %(span2m)s))
            unless on (%(cluster)s)
          %(targets)s
        |||, { targets: targets }), {
          summary: 'Prometheus has no Triton server to scrape.',
          description: 'Prometheus has no scrape target%(of_cluster)s with %(triton)s: service discovery returns an empty list, the job was renamed, ' + lost_label.english + 'or the agent that sends their samples is gone. No model is monitored, and no other alert reports that. Look at Status, Service discovery in Prometheus.',
          summary_zh: 'Prometheus 不再抓取任何 Triton 服务器。',
          description_zh: 'Prometheus 没有任何抓取目标%(cluster_zh)s：服务发现返回空列表，job 被改名，' + lost_label.chinese + '或发送样本的 agent 已不在。所有模型的情况都不得而知，其他告警也不会触发。请查看 Prometheus 的 Service discovery 页面。',
          board: boards.link('hosts', [], 'up'),
        }, wait=config.serversLostFor),
      ]),
      // Alerts that wait for minutes.
      later: text.group('alerts.traffic.minutes', config.stageInterval, [
        // One of several servers lacks the version, so requests that a balancer sends there get 404. A version that another
        // one replaced on that server is excluded.
        text.alert('TritonModelMissing', 'critical', text.owned_version(fit(|||
          (
            replica_model_version:triton_loaded:last_seen_seconds
              unless on (%(subject)s, %(replica)s)
            replica_model_version:triton_requests_succeeded:rate%(short)s
          )
          and on (%(subject)s)
          model_version:triton_requests_succeeded:rate%(short)s
          and on (%(replica_only)s)
          %(scraped)s
          unless on (%(replica_only)s)
          replica:triton_unreachable:info
          unless on (%(model)s, %(replica)s)
          group by (%(model)s, %(replica)s) (replica_model_version:triton_requests_succeeded:rate%(short)s)
        |||, { scraped: scraped.here })), {
          summary: 'A server has lost a model that others have.',
          description: say.model + ' is no longer loaded on {{ $labels.%(replicaLabel)s }} (last seen {{ $value | humanizeTimestamp }}), but still is on other servers. Requests that still go there get 404, which Triton does not count. Reload it, or remove the server from the load balancer. The alert resolves after an hour.',
          summary_zh: say.model_zh + ' 从 {{ $labels.%(replicaLabel)s }} 上消失了。',
          description_zh: say.model_zh + ' 在 {{ $labels.%(replicaLabel)s }} 上最后一次看到已加载：{{ $value | humanizeTimestamp }}；现在未加载，而其他服务器仍有。仍发往该处的请求得到 404，Triton 不计。请重新加载，或把该服务器移出负载均衡。',
          board: board,
        }, wait='2m') + shards.parts([scraped]),
        text.alert('TritonVersionNotLoaded', 'info', fit(|||
          (
            %(missing)s
          )
          and on (%(model)s)
          group by (%(model)s) (model_version:triton_requests_succeeded:rate%(short)s)
        |||, { missing: missing }), {
          summary: 'A model version of the fleet file is not loaded, but others of its model are.',
          description: 'The fleet file lists ' + say.model +
                       ', and no server has it, while other versions of the model are loaded and serve its requests. Before a rollout this is expected; after one, remove the old version from the fleet file. Clients that request this version get errors.',
          summary_zh: say.model_zh + ' 未加载，其他版本已加载。',
          description_zh: '集群文件列有 ' + say.model_zh + '，但没有服务器加载它，同一模型的其他版本已加载并收到请求。上线之前这是正常的；上线之后请从集群文件中去掉旧版本。指定该版本的调用方会得到错误。',
          board: board,
        }, wait='15m'),
        text.alert('TritonTrafficDrop', 'warning', text.owned_whole(|||
          (
            subject:triton_requests:rate5m{model!="", version=""}
              < on (%(model)s)
            %(dropRatio)s * (subject:triton_requests:rate5m{version=""} offset %(span1d)s >= %(dropFloor)s)
          )
          and on (%(model)s)
          (subject:triton_requests:rate5m{version=""} > 0)
          unless on (%(model)s)
          (
            subject:triton_requests:rate5m{version=""}
              >= on (%(model)s)
            %(dropRatio)s * subject:triton_requests:rate5m{version=""} offset %(span7d)s
          )
          unless on (%(model)s)
          model_version:triton_servers_unreachable:count
        |||), {
          summary: 'A model receives far fewer requests than usual at this time.',
          description: say.model + ' receives ' + say.number + ' requests/s; yesterday at this time it was ' +
                       say.look('subject:triton_requests:rate5m', ['model', 'version'], 'printf "%%.4g"', ' offset %(span1d)s') +
                       '. A client stopped, or fails before it reaches Triton: check the clients, load balancers and DNS.',
          summary_zh: say.model_zh + ' 的请求远少于平日此时。',
          description_zh: say.model_zh + ' 每秒收到 ' + say.number + ' 个请求；昨天此时为 ' + say.look('subject:triton_requests:rate5m', ['model', 'version'], modifier=' offset %(span1d)s') + '。有调用方停止了，或在到达 Triton 之前就失败了：请检查调用方、负载均衡和网络。',
          board: board,
        }, wait='10m'),
      ]),
    };

  // Traffic that stopped, until it returns, or for a day. The usual rate of an hour is forgotten within that hour, so the
  // times of the stop and of the last request since are recorded. The alert follows its records in one group.
  local stopped =
    local yesterday = 'printf "subject:triton_requests:rate5m{%(clusterIs)smodel=%%q,version=\\"\\"} offset %(span1d)s" %(clusterValue)s(print $labels.model) | query';
    local stopped = 'model:tritonobs_traffic_stopped:timestamp_seconds';
    local back = 'model:tritonobs_traffic_back:timestamp_seconds';
    local within(series) = 'max_over_time(' + series + '[%(span1d)s])';
    [
      // For a model over all versions, because a rollout drains the old version on purpose. Both means of 5 m are 0: no
      // request came for ten minutes. Before that, requests came for at least a quarter of an hour, so it is not a first
      // try. If the model counts requests itself, only Triton's counters have stopped.
      text.record(stopped, |||
        timestamp(
          (subject:triton_requests:rate5m{model!="", version=""} == 0)
          and on (%(model)s)
          (subject:triton_requests:rate5m{version=""} offset %(span5m)s == 0)
          and on (%(model)s)
          (subject:triton_requests:p75_1h * %(seconds10m)s >= %(silenceRequests)s)
          and on (%(model)s)
          subject:triton_requests:rate5m{version=""} offset %(span70m)s
          unless on (%(model)s)
          (subject:triton_requests:rate5m{version=""} offset %(span1d)s == 0)
          unless on (%(model)s)
          (model_instance:tritonobs_worker_alive:bool == 0)
          unless on (%(model)s)
          (model_version:triton_requests_pending:sum > 0)
          unless on (%(model)s)
          (avg_over_time(model_version_outcome:tritonobs_requests:rate%(short)s[%(span5m)s]) > 0)
          unless on (%(model)s)
          model_version:triton_servers_unreachable:count
        )
      |||),
      // A request that waits in the queue has arrived, too.
      text.record(back, fit(|||
        timestamp(
          (
            (subject:triton_requests:rate5m{model!="", version=""} > 0)
            or on (%(model)s)
            group by (%(model)s) (model_version:triton_requests_pending:sum > 0)
          )
          and on (%(model)s)
          %(stopped)s
        )
      |||, { stopped: within(stopped) })),
      // `last_over_time` bridges a restart of the servers. A dead worker has its own alert.
      text.alert('TritonTrafficStopped', 'warning', text.owned_whole(fit(|||
        (last_over_time(subject:triton_requests:rate5m{model!="", version=""}[%(span5m)s]) == 0)
        and on (%(model)s)
        (
          %(stopped)s
            unless on (%(model)s)
          (%(back)s > on (%(model)s) %(stopped)s)
        )
        unless on (%(model)s)
        (model_instance:tritonobs_worker_alive:bool == 0)
      |||, { stopped: within(stopped), back: within(back) })), {
        summary: 'A model has stopped receiving requests.',
        description: say.model +
                     ' has received no request for 10 minutes or more, although it is loaded, its workers are alive and Prometheus scrapes them{{ with ' +
                     yesterday + ' }}; yesterday at this time it received {{ . | first | value | printf "%%.4g" }}/s{{ else }}; Prometheus has no data of yesterday, and a job that runs once a day looks the same on its first day{{ end }}. Check its clients, load balancers and DNS. The alert resolves with the next request, or after a day.',
        summary_zh: say.model_zh + ' 不再收到请求。',
        description_zh: say.model_zh + ' 已加载，工作进程正常，Prometheus 也能看到，但十分钟没有任何请求{{ with ' + yesterday + ' }}，昨天此时每秒 {{ . | first | value | printf "%%.4g" }} 个{{ else }}；昨天此时的情况 Prometheus 不知道：若是每天运行一次的任务，从第二天起不再告警{{ end }}。请检查调用方、负载均衡和 DNS。收到下一个请求后告警恢复，最迟一天后恢复。',
        board: boards.link('model', ['model', 'version'], 'subject:triton_requests:rate5m'),
      }, wait='30s'),
    ];
  { traffic: traffic, stopped: stopped }
