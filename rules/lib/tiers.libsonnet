// The burn tiers with what follows from them: the seconds of the long window, and the factor as PromQL reads it. A burn
// rate of 1 spends the budget in exactly one period; a factor below it would page for a promise that is kept.
local duration = import 'duration.libsonnet';
function(config)
  local factor(tier, seconds) = std.max(1, tier.share * config.sloPeriodSeconds / seconds);
  [
    local seconds = duration.seconds(tier.long);
    tier { seconds: seconds, factor: '%.10g' % (std.round(factor(tier, seconds) * 10000) / 10000) }
    for tier in config.burnTiers
  ]
