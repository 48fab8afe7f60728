// Error ratios over each window, error budgets of the period, and what boards show of them.
local duration = import '../lib/duration.libsonnet';
local fit = import '../lib/fit.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // The ratio of bad to valid requests over each window. Both are summed before the division, so that every request has the
  // same weight, in busy and in idle hours.
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
    // Alerts that need the number of bad requests as well read this record, so that each window is summed once.
    local counted(window, samples) =
      local sum = 'slo:sli_bad_requests:sum' + window;
      [text.record(sum, bad_in(window, samples)), ratio(window, samples, sum)];
    // Where a ruler writes late, alerts sum the samples themselves.
    local at_once(window, samples) = if config.recordsAtOnce then counted(window, samples) else [share(window, samples)];
    // Fewer samples to sum: each is the sum since the sample before it. It ends an evaluation early (`settled`), because a
    // sample that is written during this evaluation would be in no window.
    local sampled(name, samples, window) = text.record(
      'slo:' + name + ':' + samples,
      'sum_over_time(slo:' + name + ':increase[' + window + ']' + text.settled + ')'
    );
    local both(samples, window) = [
      sampled(name, samples, window)
      for name in ['sli_valid_requests', 'sli_bad_requests']
    ];
    {
      // The inputs of the fast tier. It records the bad requests of few SLOs itself, where records are read at once.
      recent: [share('5m', 'increase')] + (
        if config.recordsAtOnce then [share('1h', 'increase')] else counted('1h', 'increase')
      ),
      // These change slowly and cost the most.
      slow: both('sampled', '%(slowSampleWindow)s') + [
              sampled('sli_bad_samples', 'sampled', '%(slowSampleWindow)s'),
            ] + at_once('30m', 'increase') + at_once('2h', 'sampled') +
            counted('6h', 'sampled') + counted('1d', 'sampled') + counted('3d', 'sampled'),
      // One sample in 5 m is enough for a period.
      sampled: both('rarely_sampled', '%(longSampleWindow)s'),
      period: counted(config.sloPeriod, 'rarely_sampled'),
    };

  // Error budgets, under the names of Sloth's records.
  local budget =
    local burning(window) = fit(|||
      slo:sli_error:ratio_rate%(window)s
        / ignoring (sloth_window)
      slo:error_budget:ratio
    |||, { window: window });
    {
      shown: [text.record('slo:current_burn_rate:ratio', burning('5m'))],
      // The whole period.
      period: [
        text.record('slo:time_period:days', 'slo:objective:ratio * 0 + %(sloPeriodDays)s'),
        text.record('slo:period_burn_rate:ratio', burning(config.sloPeriod)),
        text.record('slo:period_error_budget_remaining:ratio', '1 - slo:period_burn_rate:ratio'),
        // Budgets that are spent, until a little is left again, because chance moves the rest over and under 0. An SLO
        // counts from a tenth of its period on: before that, one bad quarter of an hour spends its small budget.
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
        // The burn rate of spent budgets that still burn.
        text.record('slo:period_error_budget_spent:burn_rate', fit(|||
          (
          %(burning)s
          > 1)
            and on (%(subject)s, slo)
          slo:period_error_budget_spent:ratio
        |||, { burning: text.trimmed(burning('1h')) })),
        // The time until the budget is spent at the rate of the last hour; no row where no request was bad in that hour.
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

  // For boards: no page depends on these.
  local shown =
    // The end of sums of samples of the error budgets' group, so many of its evaluations ago: all of them must have come, also
    // from a ruler that stood still for a minute and sends them late.
    local ago(times) = ' offset ' + duration.text(times * config.sloSeconds),
          settled = ago(if config.recordsAtOnce then 1 else 4),
          settled_since = ago(if config.recordsAtOnce then 1 else 3);
    // The sum over one interval of its group.
    local recent(series, of=settled) = 'sum_over_time(' + series + '[%(slowSampleWindow)s]' + of + ')';
    local timed(stage='') = recent('model_version_stage_le:tritonobs_requests_timed:increase{le="+Inf"' + stage + '}');
    // Requests of versions that do not time the stage `total` count as well.
    local all = fit(|||
      %(timed)s
      or
      label_replace(
        %(requests)s unless on (%(subject)s) %(whole)s,
        "stage", "total", "", ""
      )
    |||, { timed: timed(), requests: recent('model_version:triton_requests:increase'), whole: timed(', stage="total"') });
    {
      // The ratio of bad requests over 5 m, as SLOs count them, for models that are loaded.
      ratio: [text.record('model_version:triton_requests_bad_per_requests:ratio_rate5m', |||
        sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s])
          /
        (sum_over_time(model_version:triton_requests:increase[%(span5m)s]) > 0)
        and
        model_version:triton_requests:rate5m
      |||)],
      // Invalid requests, which no budget is charged for.
      invalid: [text.record('model_version:triton_requests_invalid:increase5m', fit(|||
        sum by (%(subject)s) (
          sum_over_time(%(told)s[%(span5m)s])
          or
          sum_over_time(replica_model_version_seen_by:triton_requests_bad:increase{part=""}[%(span5m)s])
          or
          -sum_over_time(model_version:triton_requests_bad:increase[%(span5m)s])
        )
        > 0.001
      |||, { told: 'replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}' }))],
      // Requests of a stage with a threshold that are not measured, because their worker's histogram lacks the bound, or
      // does not time the stage. Less than 0 where an evaluation was missed whose requests the interval before has: their
      // sum over several intervals is what is not measured.
      unmeasured: [text.record('slo:sli_unmeasured_requests:increase', fit(|||
        sum without (stage, le, before) (
          slo:tritonobs_counted:info{stage!=""}
            * on (%(subject)s, stage) group_left ()
          (
            (
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
        ) != 0
      |||, { all: all, valid: recent('slo:sli_valid_requests:increase', settled_since) }))],
    };
  { ratios: ratios, budget: budget, shown: shown }
