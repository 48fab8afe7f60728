// Budgets that burn too fast, tier by tier: rows only while they do, with the burn rate of the long window.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local tiers = (import '../lib/tiers.libsonnet')(config);
  // Few budgets burn: all but those are left out by the smallest budget of the cluster, before each is compared with its
  // own.
  local exceeds(window, factor) = fit(|||
    (
      slo:sli_error:ratio_rate%(window)s
        > on (%(cluster)s) group_left ()
      clamp_max(%(factor)s * cluster:slo_error_budget:min, %(sloThresholdCap)s)
        > ignoring (sloth_window)
      clamp_max(%(factor)s * slo:error_budget:ratio, %(sloThresholdCap)s)
    )
  |||, { window: window, factor: factor });
  // More bad requests than chance makes. Where they are traced by sample, as many must have been seen themselves.
  local enough(bad, samples, window) = fit(|||
    (
      (%(bad)s >= %(sloMinimumBad)s)
        unless
      (sum_over_time(slo:sli_bad_samples:%(samples)s[%(window)s]) < %(sloMinimumBadSamples)s)
    )
  |||, { bad: bad, samples: samples, window: window });
  // What burns fast enough for a faster page, and by more than chance, is left to it: of a model that has been asked for
  // less than the longer window, the share over it rises first.
  local left_to(tier) = std.join('', [
    fit(|||

      unless
      (
        %(burns)s
        and
        %(enough)s
      )
    |||, { burns: exceeds(faster.short, faster.factor), enough: enough(
      fit('sum_over_time(slo:sli_bad_requests:increase[%(window)s])', { window: text.span(faster.short) }),
      'increase',
      text.span(faster.short)
    ) })
    for faster in tiers
    if tier.severity == 'critical' && faster.severity == 'critical' && faster.seconds < tier.seconds
  ]);
  local named(tier, what) = 'slo:error_budget_burn_' + tier.name + ':' + what;
  // `samples` are what the long window is summed of, `fresh` is twice as long as the tier's interval.
  local records(tier, samples, fresh) =
    local again = tier.again != '';
    local begun = named(tier, 'begun');
    local placed(expr) = fit(expr, {
      long: exceeds(tier.long, tier.factor),
      shorter: exceeds(tier.short, tier.factor),
      still: if again then exceeds(tier.again, tier.factor) else '',
      begun: begun,
      begins: named(tier, 'begins'),
      short_window: text.span(tier.short),
      long_window: text.span(tier.long),
      samples: samples,
      fresh: fresh,
      left_to: left_to(tier),
      enough: enough('slo:sli_bad_requests:sum' + tier.long, samples, text.span(tier.long)),
    });
    local begun_lately = placed(|||
      (
        %(shorter)s
        and
        present_over_time(%(begun)s[%(short_window)s])
      )
    |||);
    // One that began twice within its long window lasts until a longer one is calm, too: errors now and then are one
    // message, not many.
    local begun_twice = placed(|||
      (
        %(still)s
        and
        (
          count_over_time(%(begins)s[%(long_window)s]) >= 2
        )
      )
    |||);
    [
      // A bad request was just counted, and with it both windows burn too fast. Without this a burn would begin after
      // the last request, when good ones leave the windows and bad ones stay.
      text.record(begun, placed(|||
        %(long)s
        and
        %(shorter)s
        and
        (sum_over_time(slo:sli_bad_requests:increase[%(fresh)s]) > 0)
        and
        %(enough)s%(left_to)s
      |||)),
      text.record(named(tier, 'ratio'), fit(|||
        (
          %(long)s
          and
          (
            %(lasting)s
          )
        )
          /
        slo:error_budget:ratio
      |||, {
        long: exceeds(tier.long, tier.factor),
        lasting: text.all([begun_lately] + if again then [begun_twice] else []),
      })),
    ];
  // Where a burn of the first tier did not go on from one before. Of the evaluation before, so it may be evaluated beside
  // it, and vmalert, too, has written that by now.
  local begins(tier) = text.record(named(tier, 'begins'), fit(|||
    present_over_time(%(begun)s[%(interval)s] offset %(interval)s)
      unless
    present_over_time(%(begun)s[%(short_window)s] offset %(fresh)s)
  |||, {
    begun: named(tier, 'begun'),
    short_window: text.span(tier.short),
    interval: '%(sloInterval)s',
    fresh: '%(sloFreshWindow)s',
  }));
  {
    begins: [begins(tier) for tier in tiers if tier.again != ''],
    recent: records(tiers[0], 'increase', '%(sloFreshWindow)s'),
    slow: std.flattenArrays([
      records(tier, 'sampled', '%(slowFreshWindow)s')
      for tier in tiers[1:]
    ]),
  }
