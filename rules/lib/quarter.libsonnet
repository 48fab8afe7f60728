// What was offered over a quarter of an hour, of three means of 5 m; `only` narrows down the subjects.
local fit = import 'fit.libsonnet';
local mean = 'subject:triton_requests_offered:rate5m';
function(only='') fit(|||
  (
    (%(mean)s %(only)s)
      + on (%(subject)s)
    %(mean)s offset %(span5m)s
      + on (%(subject)s)
    %(mean)s offset %(span10m)s
  ) / 3
|||, { mean: mean, only: only })
