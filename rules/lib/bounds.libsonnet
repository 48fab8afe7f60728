// Rows of buckets added up. Prometheus 3 writes a bound as 1.0 where others write 1: both become 1, or thresholds would not
// find their bucket. `written` keeps them apart until they are added up.
local fit = import 'fit.libsonnet';
function(by, rows) fit(|||
  sum by (%(by)s) (
    label_replace(
      label_replace(
        (
          %(rows)s
        ),
        "written", "$1", "le", "([0-9]+[.]0+)"
      ),
      "le", "$1", "le", "([0-9]+)[.]0+"
    )
  )
|||, { by: by, rows: rows })
