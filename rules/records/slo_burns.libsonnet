// Error budgets that burn too fast, by tier. The records have rows only during a burn, with the burn rate of the long
// window. Bad requests that one tier has reported are subtracted in slower tiers.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local duration = import '../lib/duration.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local tiers = (import '../lib/burns.libsonnet').tiers(config);
  local reported = (import '../lib/burns.libsonnet').reported(config);
  // Chance moves a ratio over its threshold and back. A burn that has begun lasts until both windows are clearly below their
  // thresholds.
  local lasting = '%(burnLastingRatio)s * ';
  local again = '%(burnAgainRatio)s * ';
  // SLOs whose ratio over `window` exceeds the threshold, or a `part` of it while a burn lasts. The value is the ratio.
  local exceeds(window, factor, part='', ago='') = fit(|||
    (
      slo:sli_error:ratio_rate%(window)s%(ago)s
        > ignoring (sloth_window)
      %(part)sclamp_max(%(factor)s * slo:error_budget:ratio, %(sloThresholdCap)s)
    )
  |||, { window: window, factor: factor, part: part, ago: ago });
  // Few budgets burn, or nearly do. For slower tiers a record holds those, with the ratio of each window divided by its
  // threshold, and burns are judged from these rows. All others are dropped by the smallest budget of the cluster, before
  // each is divided by its own.
  local sparse = reported.sparse;
  local kept = reported.kept;
  local above_least(tier, window, part) = fit(|||
    (
      slo:sli_error:ratio_rate%(window)s
        > on (%(cluster)s) group_left ()
      %(part)s * clamp_max(%(factor)s * cluster:slo_error_budget:min, %(sloThresholdCap)s)
    )
  |||, { window: window, factor: tier.factor, part: part });
  local of_threshold(tier, windows, part) = fit(|||
    (
      %(above)s
    )
      / on (%(subject)s, slo) group_left ()
    clamp_max(%(factor)s * slo:error_budget:ratio, %(sloThresholdCap)s)
      > %(part)s
  |||, { above: text.all([above_least(tier, window, part) for window in windows]), factor: tier.factor, part: part });
  local of_tier(tier, rows) = fit('label_replace(\n  %(rows)s,\n  "burn_tier", "%(tier)s", "", ""\n)', { rows: rows, tier: tier.name });
  // SLOs of a tier whose window exceeds `part` of its threshold, from that record where there is one.
  local above(tier, window, part='') =
    if !kept(tier) then exceeds(window, tier.factor, part)
    else fit('group by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo) (%(over)s > %(part)s)', {
      over: reported.over_in(tier, window),
      part: if part == '' then '1' else std.strReplace(part, ' * ', ''),
    });
  // More bad requests than chance makes. Where requests are traced by sample, the sample itself must have seen enough of
  // them.
  local enough(bad, samples, window) = fit(|||
    (
      (%(bad)s >= %(sloMinimumBad)s)
        unless on (%(subject)s, slo)
      (sum_over_time(slo:sli_bad_samples:%(samples)s[%(window)s]) < %(sloMinimumBadSamples)s)
    )
  |||, { bad: bad, samples: samples, window: window });
  // The samples that the long window (`samples`) and the short window (`quick`) of a tier are summed from.
  local samples(tier) = if tier.name == tiers[0].name then 'increase' else 'sampled';
  local quick(tier) = if duration.seconds(tier.short) < 3600 then 'increase' else 'sampled';
  // SLOs whose short window burns fast enough for a faster tier, by more than chance. They are left to that tier, and so is
  // everything while its alert fires. Otherwise a slower tier could begin first: where a model has had traffic for less than
  // the long window, the ratio over that window rises sooner. What the slower tier had seen before that burst is its own:
  // short outages that recur are too short for a faster tier, and each is over before its burst is.
  local burst(one) = fit(|||
    (
      %(burns)s
      and on (%(subject)s, slo)
      %(enough)s
    )
  |||, {
    burns: above(one, one.short),
    enough: enough(
      if reported.by_suspects(one) then 'slo:sli_bad_requests:sum' + one.short
      else fit('sum_over_time(slo:sli_bad_requests:%(samples)s[%(window)s])', {
        samples: quick(one),
        window: text.span(one.short),
      }),
      quick(one),
      text.span(one.short)
    ),
  });
  local bursts = 'slo:error_budget_burn:burst';
  local bursts_of(one) = bursts + '{burn_tier="' + one.name + '"}';
  // SLOs whose long window exceeded the threshold of `tier` before the burst for the faster tier `one` began: where both
  // windows have seen the same time, the burst brought it there.
  local before_burst(tier, one) =
    local ago = ' offset ' + duration.text(2 * duration.seconds(text.span(one.short)));
    fit(|||
      (
        %(over)s
          unless on (%(subject)s, slo)
        %(burst)s
      )
    |||, {
      over: if sparse then reported.over_in(tier, tier.long) + ago + ' > 1' else exceeds(tier.long, tier.factor, ago=ago),
      burst: if sparse then bursts_of(one) + ago else exceeds(one.short, one.factor, ago=ago),
    });
  local left_to(tier) = std.join('', [
    fit(|||

      unless on (%(subject)s, slo)
      (
        %(burst)s
          unless on (%(subject)s, slo)
        %(seen_before)s
      )
      unless on (%(model)s, slo)
      %(out)s
    |||, {
      burst: if sparse then bursts_of(one) else burst(one),
      seen_before: before_burst(tier, one),
      out: one.named('ratio'),
    })
    for one in tier.faster
  ]);
  // The rows of `burns`, without SLOs for which faster tiers have reported so much that the rest of the long window is below
  // its threshold.
  local not_reported(tier, burns, part='') =
    if tier.faster == [] then burns
    else fit(|||
      (
        %(burns)s
          unless on (%(subject)s, slo)
        %(explained)s
      )
    |||, { burns: burns, explained: reported.explained(tier, reported.of_slo(tier), part=part) });
  // The records of a tier. `fresh` is twice the interval of the samples, so that no evaluation misses a bad request.
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
      counted: if reported.by_suspects(tier) then 'slo:sli_bad_requests:suspected_fresh'
      else fit('(sum_over_time(slo:sli_bad_requests:increase[%(fresh)s]) > 0)', { fresh: fresh }),
      left_to: left_to(tier),
      // What faster tiers leave needs at least this time to spend its share. The window of a younger SLO has too few good
      // requests.
      old_enough: if tier.age == '' then '' else fit('\nand\n(slo:error_budget:ratio offset %(age)s)', { age: text.span(tier.age) }),
      enough: enough(reported.bad_of(tier), samples(tier), text.span(tier.long)),
    });
    [
      // A burn begins when a bad request was just counted while both windows exceed their thresholds. Without that condition
      // a burn could begin after the last request, when good ones leave the windows before bad ones.
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
          // A burn that began twice within `lately` also lasts until a longer window is calm, so that recurring errors are
          // one message.
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
  // The beginnings of burns: evaluations that did not continue a burn. It reads the previous evaluation, so that it can be
  // in another group, and vmalert has written that sample by now.
  local begins(tier, interval, fresh) = text.record(tier.named('begins'), fit(|||
    %(begun)s offset %(interval)s
      unless
    present_over_time(%(begun)s[%(short_window)s] offset %(fresh)s)
  |||, {
    begun: tier.named('begun'),
    short_window: text.span(tier.short),
    interval: interval,
    fresh: fresh,
  }));
  // What the first tier compares: the ratio of each window divided by its threshold, and the bad requests of the long window
  // (`near`) where the smallest budget of the cluster would burn.
  local near =
    local tier = tiers[0];
    local part = '%(burnLastingRatio)s';
    local windows = [tier.long, tier.short];
    text.record(reported.near, text.all(
      [of_threshold(tier, windows, part)] +
      (if std.member(windows, tier.again) then [] else [of_threshold(tier, [tier.again], '%(burnAgainRatio)s')]) +
      [fit(|||
        label_replace(
          sum_over_time(slo:sli_bad_requests:increase[%(long)s])
            and on (%(model)s)
          %(suspects)s,
          "near", "bad", "", ""
        )
      |||, { long: text.span(tier.long), suspects: reported.with_members(above_least(tier, tier.long, part)) })]
    ));
  {
    recent: (if sparse then [near] else []) + records(tiers[0], '%(sloFreshWindow)s'),
    // The first tier's beginnings and reported requests, recorded in another group than the alert.
    kept: [begins(tiers[0], '%(sloInterval)s', '%(sloFreshWindow)s')] +
          reported.records(tiers[0], 'slo'),
    // Evaluated after the windows that they read, in the same group.
    thresholds: if !sparse then [] else [
      text.record(reported.over, text.all([
        of_tier(tier, of_threshold(tier, [tier.long, tier.short], '%(burnLastingRatio)s'))
        for tier in tiers[1:]
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
          of_tier(tier, of_threshold(tier, [tier.again], '%(burnAgainRatio)s'))
          for tier in tiers[1:]
        ]),
      })),
    ],
    slow: (
      if !sparse then [] else [
        text.record(bursts, text.all([
          of_tier(tier, burst(tier))
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
