// What a latency threshold leaves out, for alerts about an SLO that has one: requests wait before they reach the model, and
// of that Triton tells no more than a mean.
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
  english: filled(" Its threshold is about the time inside the model; before that, requests wait {{ . | first | value | humanizeDuration }} on average in Triton's queue."),
  chinese: filled('其阈值只针对模型内部的时间；在此之前，请求在 Triton 队列中平均等待 {{ . | first | value | humanizeDuration }}。'),
}
