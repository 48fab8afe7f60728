// The burn tiers with what follows from them: the seconds of the long window, and the factor as PromQL reads it. A burn
// rate of 1 spends the budget in exactly one period; a factor below it would page for a promise that is kept. `named` is
// what a tier calls its records, `faster` are the tiers that report before it.
local duration = import 'duration.libsonnet';
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
  tiers
