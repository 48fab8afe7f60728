// Failures of requests, each counted once and under the version that its model's successes are counted under: a failed
// ensemble request counts twice as OTHER, once under version 1 and once under its own, and its successes under 1.
// `failures` gives those with a matcher of reasons, `models` is a row for each model there may be, `by` further labels
// to keep. All failures are read but once: with four reasons on each server there are more of them than of any other.
local fit = import 'fit.libsonnet';
function(failures, models, by='')
  local counted(reasons, times) = fit(|||
    %(failures)s
      * on (%(model)s) group_left (kind)
    (
      group by (%(model)s, kind) (subject:tritonobs_model_info:held{kind="ensemble"})%(times)s
      or on (%(model)s)
      %(models)s
    )
  |||, { failures: failures(reasons), times: times, models: models });
  fit(|||
    sum by (%(subject)s, reason%(by)s) (
      label_replace(
        sum by (%(model)s, counted, reason%(by)s) (
          label_replace(
            label_replace(
              %(other)s
              or
              %(rest)s,
              "counted", "$1", "version", "(.*)"
            ),
            "counted", "1", "kind", "ensemble"
          )
        ),
        "version", "$1", "counted", "(.*)"
      )
    )
  |||, { other: counted('reason="OTHER"', ' / 2'), rest: counted('reason!="OTHER"', ''), by: by })
