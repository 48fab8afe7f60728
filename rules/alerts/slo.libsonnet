// Error budgets: one set of alerts for every SLO there is.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local labels = ['model', 'version', 'slo'];
  local board = boards.link('slo', labels, 'slo:period_error_budget_remaining:ratio');
  local left = 'of its error budget for %(sloPeriod)s ' +
               say.look('slo:period_error_budget_remaining:ratio', labels, 'humanizePercentage') + ' is left';
  local gone = '{{ with printf "slo:time_to_exhaustion:seconds{model=%%q,version=%%q,slo=%%q}" (print $labels.model) (print $labels.version) (print $labels.slo) | query }}, at this pace gone in {{ . | first | value | humanizeDuration }}{{ end }}';
  // The stage that needs most of the time that requests may take.
  local eater = '{{ with printf "topk(1, model_version_stage:tritonobs_stage_latency_budget_used:ratio5m{model=%%q})" (print $labels.model) | query }} Of its stages, {{ . | first | label "stage" }} takes most: {{ . | first | value | humanizePercentage }} of the target.{{ end }}';
  local exceeds(window, factor) = put(|||
    (
      slo:sli_error:ratio_rate<window>
        > ignoring (sloth_window)
      clamp_max(<factor> * slo:error_budget:ratio, %(sloThresholdCap)s)
    )
  |||, { window: window, factor: factor });
  // Bad requests in the window: samples times their distance.
  local count(window) =
    if window == '1h' then 'sum_over_time(slo:sli_bad_requests:rate5m[' + window + ']) * %(sloSeconds)d'
    else 'sum_over_time(slo:sli_bad_requests:rate5m_sampled[' + window + ']) * %(longSeconds)d';
  local burn(tier) =
    local name = 'TritonErrorBudgetBurn' + std.asciiUpper(tier.name[0]) + tier.name[1:];
    text.alert(name, tier.severity, text.owned(put(|||
      <long>
      and
      <short>
      and
      (<count> >= %(sloMinimumBad)d)
    |||, {
      long: text.trimmed(exceeds(tier.long, tier.factor)),
      short: text.trimmed(exceeds(tier.short, tier.factor)),
      count: count(tier.long),
    })), {
      summary: say.model + ' spends its error budget for {{ $labels.slo }} too fast.',
      description: say.percent + ' of the requests of ' + say.model + ' were bad for {{ $labels.slo }} in the last ' +
                   tier.long + ', and it goes on: ' + left + gone + '.' + eater +
                   ' See which reason or stage is behind it; if a rollout did it, roll back.',
      board: board,
    }, wait=tier.wait, labels={ burn_tier: tier.name });
  local missing = text.alert('TritonSliMissing', 'warning', text.owned(|||
    (slo:objective:ratio unless on (%(subject)s, slo) slo:sli_bad_requests:rate5m)
    and on (%(subject)s)
    subject:triton_requests:rate5m
  |||), {
    summary: 'The SLO {{ $labels.slo }} of ' + say.model + ' cannot be measured.',
    description: say.model +
                 ' is loaded, yet nothing is measured for its SLO {{ $labels.slo }}: its stage is not instrumented, or the target is no bucket bound of the model. Compare the fleet file with the buckets of tritonobs_stage_duration_seconds.',
    board: board,
  }, wait='10m');
  local exhausted =
    text.alert('TritonErrorBudgetExhausted', 'warning', text.owned(|||
      (slo:period_error_budget_remaining:ratio <= 0)
      and
      (sum_over_time(slo:sli_bad_requests:rate5m_sampled[%(sloPeriod)s]) * %(longSeconds)d >= %(sloMinimumBad)d)
    |||), {
      summary: say.model + ' has no error budget left for {{ $labels.slo }}.',
      description: 'More requests of ' + say.model +
                   ' were bad for {{ $labels.slo }} in the last %(sloPeriod)s than the objective allows: ' + left +
                   '. Stop risky changes of this model until the budget is positive again.',
      board: board,
    }, wait='10m');
  {
    quick: text.group('alerts.slo', config.sloInterval, [burn(config.burnTiers[0]), missing]),
    // Sums over hours and days cost most and move least.
    slow: text.group('alerts.slo.slow', config.slowInterval, [burn(tier) for tier in config.burnTiers[1:]] + [exhausted]),
  }
