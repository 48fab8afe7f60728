// Error ratios over every window, error budgets of the period, and what boards show of them.
local duration = import '../lib/duration.libsonnet';
local fit = import '../lib/fit.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // The share of bad requests over every window. Numerator and denominator are summed apart, so that busy hours weigh
  // as much as they should and an idle night counts for nothing.
  local ratios =
    local bad_in(window, samples) =
      fit('sum_over_time(slo:sli_bad_requests:%(samples)s[%(window)s])', { window: text.span(window), samples: samples });
    local ratio(window, samples, bad) =
      text.record('slo:sli_error:ratio_rate' + window, fit(|||
        %(bad)s
          /
        (sum_over_time(slo:sli_valid_requests:%(samples)s[%(window)s]) > 0)
      |||, { window: text.span(window), samples: samples, bad: bad }), { sloth_window: window });
    local share(window, samples) = ratio(window, samples, bad_in(window, samples));
    // Where alerts ask for the number of bad requests, too, it is read once for both.
    local counted(window, samples) =
      local sum = 'slo:sli_bad_requests:sum' + window;
      [text.record(sum, bad_in(window, samples)), ratio(window, samples, sum)];
    // (Alerts whose records come late read the samples themselves.)
    local at_once(window, samples) = if config.recordsAtOnce then counted(window, samples) else [share(window, samples)];
    // Fewer samples to sum: each stands for all that came since the one before. (What is written after this was evaluated
    // would be in no window.)
    local sampled(name, samples, window) = text.record(
      'slo:' + name + ':' + samples,
      'sum_over_time(slo:' + name + ':increase[' + window + ']' + text.settled + ')'
    );
    local both(samples, window) = [
      sampled(name, samples, window)
      for name in ['sli_valid_requests', 'sli_bad_requests']
    ];
    {
      // The page that must come soonest depends on these.
      recent: [share('5m', 'increase')] + counted('1h', 'increase'),
      // These move slowly and cost most.
      slow: both('sampled', '%(slowSampleWindow)s') + [
              sampled('sli_bad_samples', 'sampled', '%(slowSampleWindow)s'),
            ] + at_once('30m', 'increase') + at_once('2h', 'sampled') +
            counted('6h', 'sampled') + counted('1d', 'sampled') + counted('3d', 'sampled'),
      // Of the period, one sample in 5 m is enough.
      sampled: both('rarely_sampled', '%(longSampleWindow)s'),
      period: counted(config.sloPeriod, 'rarely_sampled'),
    };

  // Error budgets, under the names that Sloth made public.
  local budget =
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
    };

  // What people look at and no page waits for.
  local shown =
    // Of one interval of their group.
    local recent(series, of=text.settled) = 'sum_over_time(' + series + '[%(slowSampleWindow)s]' + of + ')';
    local timed(stage='') = recent('model_version_stage_le:tritonobs_requests_timed:increase{le="+Inf"' + stage + '}');
    // Versions that time nothing are asked for all the same.
    local all = fit(|||
      %(timed)s
      or
      label_replace(
        %(requests)s unless on (%(subject)s) %(whole)s,
        "stage", "total", "", ""
      )
    |||, { timed: timed(), requests: recent('model_version:triton_requests:increase'), whole: timed(', stage="total"') });
    {
      // Over 5 m, ensembles counted once, the worse of both views on each server: as SLOs count; of models that are loaded.
      ratio: [text.record('model_version:triton_requests_bad_per_requests:ratio_rate5m', |||
        sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s])
          /
        (sum_over_time(model_version:triton_requests:increase[%(span5m)s]) > 0)
        and
        model_version:triton_requests:rate5m
      |||)],
      // The caller's fault: what no budget is charged for.
      invalid: [text.record('model_version:triton_requests_invalid:increase5m', fit(|||
        sum by (%(subject)s) (
          sum_over_time(%(told)s[%(span5m)s])
          or
          sum_over_time(replica_model_version_seen_by:triton_requests_bad:increase[%(span5m)s])
          or
          (
            -sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s])
              and on (%(subject)s)
            (
              sum_over_time(%(told)s[%(span5m)s])
              or
              sum_over_time(replica_model_version_seen_by:triton_requests_bad:increase[%(span5m)s])
            )
          )
        )
        > 0.001
      |||, { told: 'replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}' }))],
      // Requests of a promised stage that no bucket bound of their worker can tell from slow ones.
      unmeasured: [text.record('slo:sli_unmeasured_requests:increase', fit(|||
        sum without (stage, le, before) (
          slo:tritonobs_counted:info{stage!=""}
            * on (%(subject)s, stage) group_left ()
          (
            sum by (%(subject)s, stage) (
              %(all)s
            )
            or
            sum by (%(model)s, stage) (
              %(all)s
            )
          )
          or
          label_replace(
            -(%(valid)s and on (%(subject)s, slo) slo:tritonobs_counted:info{stage!=""}),
            "before", "1", "", ""
          )
        ) > 0
      |||, { all: all, valid: recent('slo:sli_valid_requests:increase', ' offset %(sloInterval)s') }))],
    };
  { ratios: ratios, budget: budget, shown: shown }
