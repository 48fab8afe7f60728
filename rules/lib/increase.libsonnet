// What counters grew by since the evaluation before, as they showed it: from the last value there was then to the last
// there is now. Sums of these over any window are exactly what the counters grew by, whatever scrapes were lost in
// between; `rate` loses what happens beside a gap, and extrapolates where a series begins.
local fit = import 'fit.libsonnet';
{
  now(series):: 'last_over_time(' + series + '[%(sloInterval)s])',
  before(series):: 'last_over_time(' + series + '[%(gapWindow)s] offset %(sloInterval)s)',

  // The same of a record that has no row where a counter is 0. One without a row at an evaluation at which its page was
  // read was 0 then, whatever it was before: the server started again.
  before_some(record):: fit(|||
    (
      %(record)s offset %(sloInterval)s
      or
      (
        %(before)s
          unless on (%(replica_only)s)
        target:triton_page_read:bool offset %(sloInterval)s
      )
    )
  |||, { record: record, before: $.before(record) }),

  // Of each series. One that is new grew from 0, unless Prometheus has just begun to read its page: then it is history.
  each(now, before, fresh='on (%(replica_only)s) %(pagesNew)s'):: fit(|||
    (%(now)s - %(before)s >= 0)
    or
    (%(now)s unless %(fresh)s)
  |||, { now: now, before: before, fresh: fresh }),

  // Summed, for series that are born and die and never begin again, as those of a worker: less to read and to match.
  // Both windows begin at the same moment: what has died is in both or in none. Less than before is only a page that
  // these rules have not seen before: its past is not charged, neither way.
  summed(by, series, rows=''):: fit(|||
    clamp_min(
      sum by (%(by)s) (
        (
          sum by (%(by)s) (last_over_time(%(series)s[%(gapHeldWindow)s])%(rows)s)
            unless on (%(replica_only)s)
          %(pagesNew)s
        )
        or
        label_replace(
          -sum by (%(by)s) (last_over_time(%(series)s[%(gapWindow)s] offset %(sloInterval)s)%(rows)s),
          "before", "1", "", ""
        )
      ),
      0
    )
  |||, { by: by, series: series, rows: rows }),
}
