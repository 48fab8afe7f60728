// How much of one rate there is for each of another, over 5 m; nothing where there was none of the other.
local fit = import 'fit.libsonnet';
function(rate, each) fit(|||
  avg_over_time(%(rate)s[%(span5m)s])
    /
  (avg_over_time(%(each)s[%(span5m)s]) > 0)
|||, { rate: rate, each: each })
