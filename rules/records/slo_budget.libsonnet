// Error budgets, under the names that Sloth made public.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local duration = import '../lib/duration.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local burning(window) = fit(|||
    slo:sli_error:ratio_rate%(window)s
      / ignoring (sloth_window)
    slo:error_budget:ratio
  |||, { window: window });
  {
    shown: [text.record('slo:current_burn_rate:ratio', burning('5m'))],
    // Of the whole period.
    period: [
      text.record('slo:time_period:days', 'slo:objective:ratio * 0 + %(sloPeriodDays)s'),
      text.record('slo:period_burn_rate:ratio', burning(config.sloPeriod)),
      text.record('slo:period_error_budget_remaining:ratio', '1 - slo:period_burn_rate:ratio'),
      // Budgets that are spent, until a little of them is left again: chance carries what is left over and under 0. A
      // young SLO has a small budget yet, which one bad quarter of an hour spends: it counts from a tenth of its period on.
      text.record('slo:period_error_budget_spent:ratio', fit(|||
        (
          (slo:period_error_budget_remaining:ratio <= 0)
          or
          (slo:period_error_budget_remaining:ratio < %(budgetLeftRatio)s)
            and
          (min_over_time(slo:period_error_budget_remaining:ratio[%(window)s]) <= 0)
        )
        and
        (slo:sli_bad_requests:sum%(sloPeriod)s >= %(sloMinimumBad)s)
        and
        slo:error_budget:ratio offset %(age)s
      |||, { window: text.span('6h'), age: text.span(duration.text(std.ceil(config.sloPeriodSeconds / 10))) })),
      // What goes on spending while nothing is left.
      text.record('slo:period_error_budget_spent:burn_rate', fit(|||
        (
        %(burning)s
        > 1)
          and on (%(subject)s, slo)
        slo:period_error_budget_spent:ratio
      |||, { burning: text.trimmed(burning('1h')) })),
      // At the last hour's pace; nothing while that keeps the promise for ever.
      text.record('slo:time_to_exhaustion:seconds', fit(|||
        clamp_min(slo:period_error_budget_remaining:ratio, 0)
          * %(sloPeriodSeconds)s
          /
        (
        %(burning)s
        > 0)
      |||, { burning: text.trimmed(burning('1h')) })),
    ],
  }
