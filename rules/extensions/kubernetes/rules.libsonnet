// Alerts about Kubernetes: pools of servers and their autoscalers. They read kube-state-metrics and KEDA, and are silent
// without them.
function(config)
  local text = (import '../../lib/text.libsonnet')(config);
  local fit = import '../../lib/fit.libsonnet';
  local boards = (import '../../lib/phrases.libsonnet').boards(config);
  local pool(series) = boards.link('hosts', [], series);
  // Pools that want more replicas than they have. `max` merges two instances of kube-state-metrics.
  local wanted(kind, want, have, updated) = fit(|||
    (
      max by (%(pool)s, %(kind)s) (%(want)s{%(kind)s=~"%(poolNames)s"})
        > on (%(pool)s, %(kind)s)
      max by (%(pool)s, %(kind)s) (%(have)s{%(kind)s=~"%(poolNames)s"})
    )
    unless on (%(pool)s, %(kind)s)
    (changes(%(updated)s{%(kind)s=~"%(poolNames)s"}[%(span5m)s]) > 0)
  |||, { kind: kind, want: want, have: have, updated: updated });
  local autoscaler = '{horizontalpodautoscaler=~"%(poolNames)s"';
  { 'alerts.kubernetes': [
    // Pods come and go with every rollout. A pool is short when that lasts and no rollout is in progress.
    text.alert('TritonPoolShort', 'warning', text.all([
      wanted(
        'deployment',
        'kube_deployment_spec_replicas',
        'kube_deployment_status_replicas_available',
        'kube_deployment_status_replicas_updated',
      ),
      wanted(
        'statefulset',
        'kube_statefulset_replicas',
        'kube_statefulset_status_replicas_ready',
        'kube_statefulset_status_replicas_updated',
      ),
    ]), {
      summary: 'A pool has fewer ready servers than desired.',
      description: '{{ with $labels.deployment }}Deployment {{ . }}{{ end }}{{ with $labels.statefulset }}StatefulSet {{ . }}{{ end }} in namespace {{ $labels.namespace }} has fewer ready servers than the desired {{ $value }}. The others serve its traffic. `kubectl describe` of a missing pod has the reason, such as no capacity, no image or a failing probe.',
      summary_zh: '服务器池中的服务器少于应有数量。',
      description_zh: '命名空间 {{ $labels.namespace }} 中的{{ with $labels.deployment }} Deployment {{ . }}{{ end }}{{ with $labels.statefulset }} StatefulSet {{ . }}{{ end }} 应有 {{ $value }} 台服务器，就绪的更少，其余服务器承担它的流量。对缺少的 Pod 执行 `kubectl describe` 可知原因：没有资源、没有镜像或探针失败。',
      board: pool('kube_deployment_status_replicas_available'),
    }, wait='5m'),
    // KEDA hides a missing metric from its autoscaler, but counts errors: about twenty in five minutes when every query
    // fails.
    text.alert('TritonAutoscalerBlind', 'warning', fit(|||
      group by (%(pool)s, horizontalpodautoscaler) (
        kube_horizontalpodautoscaler_status_condition%(of)s, condition="ScalingActive", status="false"} == 1
        or
        label_replace(
          increase(keda_scaler_detail_errors_total{scaledObject=~"%(poolNames)s"}[%(span5m)s]) > 10,
          "horizontalpodautoscaler", "keda-hpa-$1", "scaledObject", "(.*)"
        )
      )
    |||, { of: autoscaler }), {
      summary: 'An autoscaler has no metric to scale by.',
      description: 'The HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} in namespace {{ $labels.namespace }} gets no value of its metric and does not scale: more traffic adds no servers. `kubectl describe hpa` names the metric; query it in Prometheus.',
      summary_zh: '自动扩缩没有可依据的指标。',
      description_zh: '命名空间 {{ $labels.namespace }} 中的 HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} 得不到指标值，不再扩缩：流量增加也不会增加服务器。`kubectl describe hpa` 给出指标名，请在 Prometheus 中查询它。',
      board: pool('kube_horizontalpodautoscaler_status_condition'),
    }, wait='3m'),
    text.alert('TritonAutoscalerAtMaximum', 'warning', fit(|||
      max by (%(pool)s, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_desired_replicas%(of)s})
        >= on (%(pool)s, horizontalpodautoscaler)
      max by (%(pool)s, horizontalpodautoscaler) (kube_horizontalpodautoscaler_spec_max_replicas%(of)s})
    |||, { of: autoscaler }), {
      summary: 'An autoscaler is at its maximum.',
      description: 'The HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} in namespace {{ $labels.namespace }} requests its maximum of {{ $value }} servers: more traffic adds no servers. Raise maxReplicas, or expect requests to wait.',
      summary_zh: '自动扩缩已到上限。',
      description_zh: '命名空间 {{ $labels.namespace }} 中的 HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} 已需要允许的全部 {{ $value }} 台服务器：流量再增加也不会增加服务器。请提高 maxReplicas，否则请求将会等待。',
      board: pool('kube_horizontalpodautoscaler_spec_max_replicas'),
    }, wait='10m'),
    // Changes of direction in an hour, from the signs of the changes of each minute.
    text.alert('TritonAutoscalerFlapping', 'warning', fit(|||
      changes(
        (
          sgn(
            max by (%(pool)s, horizontalpodautoscaler) (%(desired)s%(of)s})
              - on (%(pool)s, horizontalpodautoscaler)
            max by (%(pool)s, horizontalpodautoscaler) (%(desired)s%(of)s} offset 1m)
          ) != 0
        )[%(span1h)s:1m]
      ) >= %(autoscalerTurns)s
    |||, { of: autoscaler, desired: 'kube_horizontalpodautoscaler_status_desired_replicas' }), {
      summary: 'An autoscaler is flapping: it scales its pool up and down repeatedly.',
      description: 'The HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} in namespace {{ $labels.namespace }} changed between scaling up and down {{ $value }} times within an hour. Servers that start serve no requests yet, and those that stop drain theirs. Let it scale down later and more slowly (`behavior.scaleDown`), or scale by a more stable metric.',
      summary_zh: '自动扩缩反复扩容又缩容。',
      description_zh: '命名空间 {{ $labels.namespace }} 中的 HorizontalPodAutoscaler {{ $labels.horizontalpodautoscaler }} 在一小时内有 {{ $value }} 次在扩容与缩容之间转向。启动中的服务器不处理请求，退出的服务器要交出请求。请让缩容更晚、更慢（`behavior.scaleDown`），或改用波动更小的指标。',
      board: pool('kube_horizontalpodautoscaler_status_desired_replicas'),
    }),
  ] }
