// How much of one rate there is for each of another, over 5 m; nothing where there was none of the other.
local put = import 'put.libsonnet';
function(rate, each) put(|||
  avg_over_time(<rate>[5m])
    /
  (avg_over_time(<each>[5m]) > 0)
|||, { rate: rate, each: each })
