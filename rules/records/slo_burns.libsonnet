// Budgets that burn too fast, tier by tier: rows only while they do, with the burn rate of the long window. What one tier
// has reported no slower one reports again.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local duration = import '../lib/duration.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local tiers = (import '../lib/burns.libsonnet').tiers(config);
  local reported = (import '../lib/burns.libsonnet').reported(config);
  // Chance carries a share over its threshold and back, again and again: a burn that has begun lasts until both windows
  // are clearly below theirs.
  local lasting = '%(burnLastingRatio)s * ';
  local again = '%(burnAgainRatio)s * ';
  // `part` of the threshold is enough where a burn lasts.
  local exceeds(window, factor, part='') = fit(|||
    (
      slo:sli_error:ratio_rate%(window)s
        > ignoring (sloth_window)
      %(part)sclamp_max(%(factor)s * slo:error_budget:ratio, %(sloThresholdCap)s)
    )
  |||, { window: window, factor: factor, part: part });
  // Few budgets burn, or nearly: of the slower tiers it is recorded which, and what share of its threshold each window has.
  // Burns of hours are judged by these few rows. All others are left out by the smallest budget of the cluster, before
  // each is divided by its own.
  local sparse = reported.sparse;
  local kept = reported.kept;
  local of_threshold(tier, window, part) = fit(|||
    label_replace(
      (
        slo:sli_error:ratio_rate%(window)s
          > on (%(cluster)s) group_left ()
        %(part)s * clamp_max(%(factor)s * cluster:slo_error_budget:min, %(sloThresholdCap)s)
      )
        / on (%(subject)s, slo) group_left ()
      clamp_max(%(factor)s * slo:error_budget:ratio, %(sloThresholdCap)s)
        > %(part)s,
      "burn_tier", "%(tier)s", "", ""
    )
  |||, { window: window, factor: tier.factor, part: part, tier: tier.name });
  local above(tier, window, part='') =
    if !kept(tier) then exceeds(window, tier.factor, part)
    else fit('sum by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo) (%(over)s > %(part)s)', {
      over: reported.over_in(tier, window),
      part: if part == '' then '1' else std.strReplace(part, ' * ', ''),
    });
  // More bad requests than chance makes. Where they are traced by sample, as many must have been seen themselves.
  local enough(bad, samples, window) = fit(|||
    (
      (%(bad)s >= %(sloMinimumBad)s)
        unless on (%(subject)s, slo)
      (sum_over_time(slo:sli_bad_samples:%(samples)s[%(window)s]) < %(sloMinimumBadSamples)s)
    )
  |||, { bad: bad, samples: samples, window: window });
  // What is summed over the windows of a tier: its own samples, and those of its short window.
  local samples(tier) = if tier.name == tiers[0].name then 'increase' else 'sampled';
  local quick(tier) = if duration.seconds(tier.short) < 3600 then 'increase' else 'sampled';
  // A burst that burns fast enough for a faster tier, and by more than chance, is left to that tier, and so is what comes
  // while that tier's alert is out. (Of a model that has been asked for less than the longer window, the share over it
  // rises first.)
  local burst(one) = fit(|||
    (
      %(burns)s
      and on (%(subject)s, slo)
      %(enough)s
    )
  |||, {
    burns: above(one, one.short),
    enough: enough(
      if kept(one) then 'slo:sli_bad_requests:sum' + one.short
      else fit('sum_over_time(slo:sli_bad_requests:%(samples)s[%(window)s])', {
        samples: quick(one),
        window: text.span(one.short),
      }),
      quick(one),
      text.span(one.short)
    ),
  });
  local bursts = 'slo:error_budget_burn:burst';
  local left_to(tier) = std.join('', [
    fit(|||

      unless on (%(subject)s, slo)
      %(burst)s
      unless on (%(model)s, slo)
      %(out)s
    |||, {
      burst: if sparse then bursts + '{burn_tier="' + one.name + '"}' else burst(one),
      out: one.named('ratio'),
    })
    for one in tier.faster
  ]);
  // The rows of `burns` but for those in whose long window faster tiers have reported so much that the rest does not burn.
  local not_reported(tier, burns, part='') =
    if tier.faster == [] then burns
    else fit(|||
      (
        %(burns)s
          unless on (%(subject)s, slo)
        %(explained)s
      )
    |||, { burns: burns, explained: reported.explained(tier, reported.of_slo(tier), part=part) });
  // `fresh` is twice the interval of the samples: no evaluation may miss a bad request.
  local records(tier, fresh) =
    local begun = tier.named('begun');
    local placed(expr) = fit(expr, {
      long: not_reported(tier, above(tier, tier.long)),
      shorter: above(tier, tier.short),
      shorter_still: above(tier, tier.short, lasting),
      longer_still: above(tier, tier.again, again),
      begun: begun,
      begins: tier.named('begins'),
      short_window: text.span(tier.short),
      lately: text.span(tier.lately),
      counted: if kept(tier) then 'slo:sli_bad_requests:suspected_fresh'
      else fit('(sum_over_time(slo:sli_bad_requests:increase[%(fresh)s]) > 0)', { fresh: fresh }),
      left_to: left_to(tier),
      // What is left to this tier needs so long to spend its share; of a younger SLO the window holds too few good requests.
      old_enough: if tier.age == '' then '' else fit('\nand\n(slo:error_budget:ratio offset %(age)s)', { age: text.span(tier.age) }),
      enough: enough(reported.bad_of(tier), samples(tier), text.span(tier.long)),
    });
    [
      // A bad request was just counted, and with it both windows burn too fast. Without this a burn would begin after
      // the last request, when good ones leave the windows and bad ones stay.
      text.record(begun, placed(|||
        %(long)s
        and
        %(shorter)s
        and
        %(counted)s
        and on (%(subject)s, slo)
        %(enough)s%(old_enough)s%(left_to)s
      |||)),
      text.record(tier.named('ratio'), fit(if kept(tier) then |||
        (
          slo:sli_error:ratio_rate%(window)s
            and on (%(subject)s, slo)
          (
            %(long)s
            and
            (
              %(lasting)s
            )
          )
        )
          / ignoring (sloth_window)
        slo:error_budget:ratio
      ||| else |||
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
        window: tier.long,
        long: not_reported(tier, above(tier, tier.long, lasting), lasting),
        lasting: text.all([
          placed(|||
            (
              %(shorter_still)s
              and
              present_over_time(%(begun)s[%(short_window)s])
            )
          |||),
          // One that began twice lately lasts until a longer window is calm, too: errors now and then are one message, not
          // many.
          placed(|||
            (
              %(longer_still)s
              and
              (
                count_over_time(%(begins)s[%(lately)s]) >= 2
              )
            )
          |||),
        ]),
      })),
    ];
  // Where a burn did not go on from one before. Of the evaluation before, so it may be evaluated beside it, and vmalert,
  // too, has written that by now.
  local begins(tier, interval, fresh) = text.record(tier.named('begins'), fit(|||
    present_over_time(%(begun)s[%(interval)s] offset %(interval)s)
      unless
    present_over_time(%(begun)s[%(short_window)s] offset %(fresh)s)
  |||, {
    begun: tier.named('begun'),
    short_window: text.span(tier.short),
    interval: interval,
    fresh: fresh,
  }));
  {
    recent: records(tiers[0], '%(sloFreshWindow)s'),
    // Kept beside the first tier: what it has reported, and where it began.
    kept: [begins(tiers[0], '%(sloInterval)s', '%(sloFreshWindow)s')] +
          reported.records(tiers[0], 'slo'),
    // Behind the windows they are of.
    thresholds: if !sparse then [] else [
      text.record(reported.over, text.all([
        of_threshold(tier, window, '%(burnLastingRatio)s')
        for tier in tiers[1:]
        for window in [tier.long, tier.short]
      ])),
      text.record(reported.over_again, fit(|||
        (
          %(all)s
        )
          and on (%(subject)s, slo)
        %(over)s
      |||, {
        over: reported.over,
        all: text.all([
          of_threshold(tier, tier.again, '%(burnAgainRatio)s')
          for tier in tiers[1:]
        ]),
      })),
    ],
    slow: (
      if !sparse then [] else [
        text.record(bursts, text.all([
          fit('label_replace(\n  %(burst)s,\n  "burn_tier", "%(tier)s", "", ""\n)', { burst: burst(tier), tier: tier.name })
          for tier in tiers[:std.length(tiers) - 1]
        ])),
      ] + reported.suspected
    ) + std.flattenArrays([
      records(tier, '%(slowFreshWindow)s') +
      reported.records(tier, 'burn')
      for tier in tiers[1:]
    ]),
    begins: [begins(tier, '%(burnInterval)s', '%(burnFreshWindow)s') for tier in tiers[1:]],
  }
