// What is left of an error budget, in words after a colon: a budget that is overspent has no percentage left and no end to
// come, and nothing is said while the budget is not recorded yet.
local fit = import 'fit.libsonnet';
local row(record) =
  'printf "' + record + '{%(clusterIs)smodel=%%q,version=%%q,slo=%%q}" %(clusterValue)s(print $labels.model) (print $labels.version) (print $labels.slo) | query';
local filled(words) = fit(
  '{{ with %(remaining)s }}%(colon)s{{ if gt (. | first | value) 0.0 }}%(left)s{{ with %(end)s }}%(gone)s{{ end }}{{ else }}%(over)s{{ end }}{{ end }}',
  {
    remaining: row('slo:period_error_budget_remaining:ratio'),
    end: row('slo:time_to_exhaustion:seconds'),
  } + words
);
// Nothing where the rate is not known.
local times(words) = fit(
  '{{ with %(burn)s }}' + words + '{{ end }}',
  { burn: row('slo:period_burn_rate:ratio'), number: '{{ . | first | value | printf "%%.3g" }}' }
);
{
  english: filled({
    colon: ': ',
    left: 'of its error budget for %(sloPeriod)s {{ . | first | value | humanizePercentage }} is left',
    gone: ', at this pace gone in {{ . | first | value | humanizeDuration }}',
    over: 'its error budget for %(sloPeriod)s is spent' + times(' %(number)s times over'),
  }),
  chinese: filled({
    colon: '：',
    left: '%(sloPeriod)s 的错误预算还剩 {{ . | first | value | humanizePercentage }}',
    gone: '，按此速度将在 {{ . | first | value | humanizeDuration }} 后耗尽',
    over: '%(sloPeriod)s 的错误预算已用尽' + times('，共用去 %(number)s 倍'),
  }),
}
