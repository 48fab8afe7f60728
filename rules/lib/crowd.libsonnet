// One fault of a host, or of a Prometheus, is in every row of it, and is one alert. Of more than three rows there is one
// row, which has their number as its value and no label but those it is counted `by`; up to three are said each by itself.
local fit = import 'fit.libsonnet';
function(rows, by) fit(|||
  (
    (
      %(rows)s
    )
    unless on (%(by)s)
    (
      count by (%(by)s) (
        %(rows)s
      ) > 3
    )
  )
  or
  (
    count by (%(by)s) (
      %(rows)s
    ) > 3
  )
|||, { rows: rows, by: by })
