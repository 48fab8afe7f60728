// Requests that Triton saw failing and that no model told of, since the evaluation before, among many that were invalid.
// Models hand over every half scrape interval, so that each sample is off, either way, by what came since; over ten
// minutes such differences cancel. So what is missing counts once it is more than that can be: at first all of the ten
// minutes, then sample by sample, with those that are negative. `by` is whose, `missing` and `seen` are records of one
// interval; no more are missing than failed, `most` of a sample and `most_in_all` in the ten minutes. `ago` reads a
// record as it was an evaluation before.
local fit = import 'fit.libsonnet';
function(by, missing, seen, most, most_in_all, ago) fit(|||
  (
    (
      (
        %(missing)s
          and on (%(by)s)
        (%(all)s <= on (%(by)s) %(most_in_all)s)
        or on (%(by)s)
        (%(most)s and on (%(by)s) %(missing)s)
      )
      and on (%(by)s)
      %(before)s
    )
    or
    (
      (
        (%(now)s <= on (%(by)s) %(most_in_all)s)
          or on (%(by)s)
        (%(most_in_all)s and on (%(by)s) %(now)s)
      )
      unless on (%(by)s)
      %(before)s
    )
  )
|||, {
  local much(at='') = fit(|||
    (
      sum by (%(by)s) (sum_over_time(%(missing)s[%(span10m)s]%(at)s))
        > on (%(by)s)
      %(lateSeconds)s / %(sloSeconds)s
        * sum by (%(by)s) (max_over_time(%(seen)s[%(span10m)s]%(at)s))
    )
  |||, { by: by, missing: missing, seen: seen, at: at }),
  by: by,
  missing: 'sum by (' + by + ') (' + missing + ')',
  all: 'sum by (' + by + ') (sum_over_time(' + missing + '[%(span10m)s]))',
  now: much(),
  // An evaluation ago, or within the ten minutes before. (Subqueries look at round times, between evaluations.)
  before: fit(|||
    (
      %(ago)s
      or
      last_over_time(
        %(much)s[%(span10m)s:%(sloInterval)s] offset %(sloInterval)s
      )
    )
  |||, { ago: much(ago), much: std.rstripChars(much(), '\n') }),
  most: most,
  most_in_all: most_in_all,
})
