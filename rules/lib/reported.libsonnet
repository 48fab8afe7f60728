// Bad requests that a burn alert has reported: those that came while it was out, and those that made it begin. A slower
// tier leaves them out, and so does the same tier of a pipeline whose member was paged for.
local fit = import 'fit.libsonnet';
function(config)
  local text = (import 'text.libsonnet')(config);
  local tiers = (import 'tiers.libsonnet')(config);
  local calls = 'group by (%(pipeline)s, model) (pipeline_stage_model:tritonobs_pipeline_calls:held)';
  // What these tiers have reported within a window.
  local within(those, window) = 'sum without (burn_tier) (\n  ' + std.join('\n    or\n  ', [
    fit('sum_over_time(%(reported)s[%(window)s])', { reported: one.named('reported'), window: text.span(window) })
    for one in those
  ]) + '\n)';
  // By this tier and faster ones. Of what burns now all of the long window is reported, or will be.
  local up_to(tier) =
    local those = tier.faster + [tier];
    text.all([within(those, tier.long)] + [
      fit('label_replace(slo:sli_bad_requests:sum%(long)s and on (%(model)s, slo) %(ratio)s, "burns", "1", "", "")', {
        long: tier.long,
        ratio: one.named('ratio'),
      })
      for one in those
    ]);
  {
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
    // that it is known by, `part` is the share of the threshold that counts.
    explained(tier, what, by='%(subject)s, slo', part=''):: fit(|||
      (
        (
          slo:sli_bad_requests:sum%(long)s
            - on (%(subject)s, slo)
          clamp_min(
            slo:sli_bad_requests:sum%(long)s
              * on (%(subject)s, slo)
            (%(part)sclamp_max(%(factor)s * slo:error_budget:ratio, %(sloThresholdCap)s))
              / on (%(subject)s, slo)
            (slo:sli_error:ratio_rate%(long)s > 0),
            %(sloMinimumBad)s
          )
        )
          < on (%(by)s) group_left ()
        %(what)s
      )
    |||, { long: tier.long, factor: tier.factor, by: by, part: part, what: what }),

    // Of one interval of the group that evaluates this, an evaluation of `slo` ago. A page about the model is about its
    // versions, too, and one about a version about its part of the model.
    records(tier, interval)::
      local bad = 'sum_over_time(slo:sli_bad_requests:increase[%(' + interval + 'SampleWindow)s]' + text.settled + ')';
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
              slo:sli_bad_requests:sum%(long)s%(settled)s
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
          long: tier.long,
          long_window: text.span(tier.long),
          short_window: text.span(tier.short),
          interval: text.ago(interval),
          settled: if tier.seconds == tiers[0].seconds then text.settled else '',
        }), { burn_tier: tier.name }),
      ],
  }
