// The tiers of burn rate alerts, and the bad requests that each tier has reported.
local duration = import 'duration.libsonnet';
local fit = import 'fit.libsonnet';

// Returns the tiers of the config with derived fields. `seconds` is the length of the long window. `factor` is the burn rate
// that spends `share` within it, at least 1, because a burn rate of 1 spends the budget in exactly one period and meets the
// SLO. `named` prefixes the names of a tier's records. `faster` lists the tiers that report before it.
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

// Returns the expressions and records of the bad requests that burn alerts have reported: those that came while an alert was
// firing, and those that made it begin. Slower tiers subtract them. So does the same tier for a pipeline whose member has an
// alert.
local reported =
  function(config)
    local text = (import 'text.libsonnet')(config);
    local tiers = tiers_of(config);
    // Few budgets burn, or nearly do. Where records are read at once, the inputs of each tier are first recorded for those
    // few. Otherwise such a record would be read an evaluation late, and the expressions are used in place. The period has no
    // such record.
    local sparse = config.recordsAtOnce;
    local kept(tier) = sparse && std.objectHas(tier, 'name');
    local first = tiers[0];
    local is_first(tier) = std.get(tier, 'name') == first.name;
    // Slower tiers share the records of suspects.
    local by_suspects(tier) = kept(tier) && !is_first(tier);
    local over = 'slo:error_budget_burn:threshold_ratio';
    local over_again = over + '_again';
    // The first tier has one record for all it compares, because its group has no room for more.
    local near = first.named('near');
    // The record of thresholds in `slo_burns.libsonnet`: the ratio of `window` divided by the threshold of the tier.
    local over_in(tier, window) =
      if is_first(tier) then near + '{sloth_window="' + window + '"}'
      else (if window == tier.again then over_again else over) + '{burn_tier="' + tier.name + '", sloth_window="' + window + '"}';
    local suspected = 'slo:sli_bad_requests:suspected';
    // Bad requests in the long window of a tier, by SLO; `version` is a matcher.
    local bad_of(tier, version='') =
      local only(labels) = if labels == [] then '' else '{' + std.join(', ', labels) + '}';
      local of_version = if version == '' then [] else ['version' + version];
      if by_suspects(tier) then suspected + only(['burn_tier="' + tier.name + '"'] + of_version)
      else if kept(tier) then near + only(['near="bad"'] + of_version)
      else 'slo:sli_bad_requests:sum' + tier.long + only(of_version);
    // Bad requests that the tiers `those` have reported within a window, by SLO.
    local within(those, window) = (if std.length(those) == 1 then '(\n  ' else 'sum without (burn_tier) (\n  ') + std.join('\n    or\n  ', [
      fit('sum_over_time(%(reported)s[%(window)s])', { reported: one.named('reported'), window: text.span(window) })
      for one in those
    ]) + '\n)';
    // The same of this tier and the faster ones. For an SLO that burns now, all bad requests of the long window count: its
    // alert reports them now or at the next evaluation.
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
    // Models with rows of `burning`, and the members of pipelines with them.
    local with_members(burning) = fit(|||
      (
        group by (%(model)s) (%(burning)s)
        or
        %(called)s
      )
    |||, { burning: burning, called: (import 'limits.libsonnet').called(burning) });
    // Models that burn or nearly do.
    local suspects = with_members(over + ' or ' + first.named('ratio'));
    {
      sparse: sparse,
      kept:: kept,
      by_suspects:: by_suspects,
      over: over,
      over_again: over_again,
      over_in:: over_in,
      bad_of:: bad_of,
      near: near,
      with_members:: with_members,

      // The inputs of slower tiers for those models: bad requests in the long windows, bad requests of one interval, and a 1
      // where a bad request was counted within two slow intervals.
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

      // Reported by faster tiers, by SLO.
      of_slo(tier):: within(tier.faster, tier.long),

      // Reported by this tier and faster ones for the members of each pipeline, with the pipeline's name as `model`.
      of_members(tier):: self.members(up_to(tier)),

      // Reported by this tier and faster ones for availability SLOs, by model and version.
      of_failures(tier):: self.failures(up_to(tier)),

      // Sums `bad` over the members of each pipeline, with the pipeline's name as `model`: the pipeline's share of them, because
      // members fail for their other callers, too.
      members(bad):: fit(|||
        label_replace(
          sum by (%(pipeline)s) (
            pipeline_model:tritonobs_requests_caused:ratio
              * on (%(model)s) group_left ()
            max by (%(model)s) (
              %(bad)s
            )
          ),
          "model", "$1", "pipeline", "(.*)"
        )
      |||, { bad: bad }),

      // The rows of `bad` that belong to SLOs without a threshold (availability), by model and version.
      failures(bad):: fit(|||
        max by (%(subject)s) (
          (
            %(bad)s
          )
            and on (%(subject)s, slo)
          slo:tritonobs_counted:info{stage=""}
        )
      |||, { bad: bad }),

      // SLOs for which so much was reported that the rest of the long window does not exceed the threshold. `what` are the
      // reported requests, `by` the labels they have in common with the SLO, `part` a factor for the threshold, and `only`
      // restricts the SLOs that are computed.
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

      // The records of reported requests of one tier, by SLO. Each sample covers one `interval` of the group that evaluates
      // it, and ends one evaluation of `slo` earlier (`settled`). An alert about a model also reports the requests of its
      // versions, and an alert about a version reports a part of the model's.
      records(tier, interval)::
        local bad = if by_suspects(tier) then suspected + '_increase' else recent(interval);
        local during = tier.named('bad');
        [
          text.record(during, fit(|||
            (
              sum by (%(subject)s, slo) (
                %(bad)s and on (%(model)s, slo) %(ratio)s{version=""}
                or
                %(bad)s and on (%(subject)s, slo) %(ratio)s
              )
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
          // When an alert begins, this adds the requests of the long window that came before it. It begins if no sample of
          // `during` is in the short window.
          text.record(tier.named('reported'), fit(|||
            %(during)s
              + on (%(subject)s, slo)
            clamp_min(
              (
                %(bad)s
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
            // The record of the first tier had no row before the burn.
            bad: if !is_first(tier) then bad_of(tier)
            else 'sum_over_time(slo:sli_bad_requests:increase[' + text.span(tier.long) + ']' + text.settled + ')',
            long_window: text.span(tier.long),
            short_window: text.span(tier.short),
            interval: text.ago(interval),
          }), { burn_tier: tier.name }),
        ],
    };
{ tiers: tiers_of, reported: reported }
