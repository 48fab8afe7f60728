// Burn tiers, and what each has reported.
local duration = import 'duration.libsonnet';
local fit = import 'fit.libsonnet';

// The burn tiers with what follows from them: the seconds of the long window, and the factor as PromQL reads it. A burn
// rate of 1 spends the budget in exactly one period; a factor below it would page for a promise that is kept. `named` is
// what a tier calls its records, `faster` are the tiers that report before it.
local tiers_of =
  function(config)
    local factor(tier, seconds) = std.max(1, tier.share * config.sloPeriodSeconds / seconds);
    local tiers = [
      local seconds = duration.seconds(tier.long);
      tier {
        seconds: seconds,
        factor: '%.10g' % (std.round(factor(tier, seconds) * 10000) / 10000),
        named(what):: 'slo:error_budget_burn_' + tier.name + ':' + what,
        faster:: [one for one in tiers if one.seconds < seconds],
      }
      for tier in config.burnTiers
    ];
    tiers;

// Bad requests that a burn alert has reported: those that came while it was out, and those that made it begin. A slower
// tier leaves them out, and so does the same tier of a pipeline whose member was paged for.
local reported =
  function(config)
    local text = (import 'text.libsonnet')(config);
    local tiers = tiers_of(config);
    local calls = 'group by (%(pipeline)s, model) (pipeline_stage_model:tritonobs_pipeline_calls:held)';
    // Where records are read at once, what slower tiers read is recorded first, of the few budgets that burn or nearly do.
    // Else it would be read late, and is computed where it is asked for.
    local sparse = config.recordsAtOnce;
    local kept(tier) = sparse && std.get(tier, 'faster', []) != [];
    local over = 'slo:error_budget_burn:threshold_ratio';
    local over_again = over + '_again';
    local over_in(tier, window) =
      (if window == tier.again then over_again else over) + '{burn_tier="' + tier.name + '", sloth_window="' + window + '"}';
    local suspected = 'slo:sli_bad_requests:suspected';
    // Bad requests of the long window.
    local bad_of(tier, version='') =
      local only(labels) = if labels == [] then '' else '{' + std.join(', ', labels) + '}';
      local of_version = if version == '' then [] else ['version' + version];
      if kept(tier) then suspected + only(['burn_tier="' + tier.name + '"'] + of_version)
      else 'slo:sli_bad_requests:sum' + tier.long + only(of_version);
    // What these tiers have reported within a window.
    local within(those, window) = 'sum without (burn_tier) (\n  ' + std.join('\n    or\n  ', [
      fit('sum_over_time(%(reported)s[%(window)s])', { reported: one.named('reported'), window: text.span(window) })
      for one in those
    ]) + '\n)';
    // By this tier and faster ones. Of what burns now all of the long window is reported, or will be.
    local up_to(tier) =
      local those = tier.faster + [tier];
      text.all([within(those, tier.long)] + [
        fit('label_replace(%(bad)s and on (%(model)s, slo) %(ratio)s, "burns", "1", "", "")', {
          bad: bad_of(tier),
          ratio: one.named('ratio'),
        })
        for one in those
      ]);
    local recent(interval) = 'sum_over_time(slo:sli_bad_requests:increase[%(' + interval + 'SampleWindow)s]' + text.settled + ')';
    // Models that burn or nearly do, and the members of such pipelines.
    local burning = over + ' or ' + tiers[0].named('ratio');
    local suspects = fit(|||
      (
        group by (%(model)s) (%(burning)s)
        or
        %(called)s
      )
    |||, { burning: burning, called: (import 'limits.libsonnet').called(burning) });
    {
      sparse: sparse,
      kept:: kept,
      over: over,
      over_again: over_again,
      over_in:: over_in,
      bad_of:: bad_of,

      // What all slower tiers read: the bad requests of their long windows, those of one interval, and those that are fresh.
      suspected: [
        text.record(suspected, text.all([
          fit(|||
            label_replace(
              slo:sli_bad_requests:sum%(long)s
                and on (%(model)s)
              %(suspects)s,
              "burn_tier", "%(tier)s", "", ""
            )
          |||, { long: tier.long, suspects: suspects, tier: tier.name })
          for tier in tiers[1:]
        ])),
        text.record(suspected + '_increase', fit('%(bad)s\n  and on (%(model)s, slo)\n%(suspected)s', {
          bad: recent('burn'),
          suspected: suspected,
        })),
        text.record(suspected + '_fresh', fit('(sum_over_time(slo:sli_bad_requests:increase[%(slowFreshWindow)s]) > 0) * 0 + 1\n  and on (%(subject)s, slo)\n%(suspected)s', {
          suspected: suspected,
        })),
      ],

      // By faster tiers.
      of_slo(tier):: within(tier.faster, tier.long),

      // By this tier and faster ones, of the members of each pipeline, under the pipeline's name.
      of_members(tier):: self.members(up_to(tier)),

      // The same of availability, by model and version.
      of_failures(tier):: self.failures(up_to(tier)),

      // Bad requests of the members of each pipeline, under the pipeline's name.
      members(bad):: fit(|||
        label_replace(
          sum by (%(pipeline)s) (
            %(calls)s
              * on (%(model)s) group_left ()
            max by (%(model)s) (
              %(bad)s
            )
          ),
          "model", "$1", "pipeline", "(.*)"
        )
      |||, { calls: calls, bad: bad }),

      // Bad requests of SLOs without a threshold, by model and version: those that failed.
      failures(bad):: fit(|||
        max by (%(subject)s) (
          (
            %(bad)s
          )
            and on (%(subject)s, slo)
          slo:tritonobs_counted:info{stage=""}
        )
      |||, { bad: bad }),

      // SLOs of which `what` was reported, and so much that the rest of the long window does not burn; `by` are the labels
      // that it is known by, `part` is the share of the threshold that counts, `only` a record of the few that are asked for.
      explained(tier, what, by='%(subject)s, slo', part='', only='')::
        local few(rows) = if only == '' then rows else '(' + rows + ' and on (%(subject)s, slo) ' + only + ')';
        local bad = few(bad_of(tier));
        fit(|||
          (
            (
              %(bad)s
                - on (%(subject)s, slo)
              clamp_min(
                %(rest)s,
                %(sloMinimumBad)s
              )
            )
              < on (%(by)s) group_left ()
            %(what)s
          )
        |||, { bad: bad, by: by, what: what, rest: if kept(tier) then fit(|||
          %(part)s%(bad)s
            / on (%(subject)s, slo)
          %(over)s
        |||, { bad: bad, part: part, over: over_in(tier, tier.long) }) else fit(|||
          %(bad)s
            * on (%(subject)s, slo)
          (%(part)sclamp_max(%(factor)s * %(budget)s, %(sloThresholdCap)s))
            / on (%(subject)s, slo)
          (%(ratio)s > 0)
        |||, {
          bad: bad,
          part: part,
          factor: tier.factor,
          budget: few('slo:error_budget:ratio'),
          ratio: few('slo:sli_error:ratio_rate' + tier.long),
        }) }),

      // Of one interval of the group that evaluates this, an evaluation of `slo` ago. A page about the model is about its
      // versions, too, and one about a version about its part of the model.
      records(tier, interval)::
        local bad = if kept(tier) then suspected + '_increase' else recent(interval);
        local during = tier.named('bad');
        [
          text.record(during, fit(|||
            (
              sum by (%(subject)s, slo) (%(bad)s and on (%(model)s, slo) %(ratio)s{version=""})
              or
              sum by (%(subject)s, slo) (%(bad)s and on (%(subject)s, slo) %(ratio)s)
              or
              sum by (%(model)s, slo) (%(bad)s and on (%(subject)s, slo) %(ratio)s{version!=""})
            )%(faster)s
          |||, {
            bad: bad,
            ratio: tier.named('ratio'),
            faster: std.join('', [
              '\nunless on (%(model)s, slo)\n' + one.named('ratio')
              for one in tier.faster
            ]),
          }), { burn_tier: tier.name }),
          // With what came before it began: all of the long window that was not reported then.
          text.record(tier.named('reported'), fit(|||
            %(during)s
              + on (%(subject)s, slo)
            clamp_min(
              (
                %(bad)s%(settled)s
                  unless on (%(model)s, slo)
                present_over_time(%(during)s[%(short_window)s] offset %(interval)s)
              )
                - on (%(subject)s, slo)
              sum_over_time(%(during)s[%(long_window)s]),
              0
            )
            or on (%(subject)s, slo)
            %(during)s
          |||, {
            during: during,
            bad: bad_of(tier),
            long_window: text.span(tier.long),
            short_window: text.span(tier.short),
            interval: text.ago(interval),
            settled: if tier.seconds == tiers[0].seconds then text.settled else '',
          }), { burn_tier: tier.name }),
        ],
    };
{ tiers: tiers_of, reported: reported }
