// Requests of each worker within the bounds that latency thresholds name, and all of them (+Inf), since the evaluation before.
// A worker without the bound has no row of it, and so is not measured.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local increase = import '../lib/increase.libsonnet';
  local traced = import '../lib/traced.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local vendors = import '../lib/vendors.libsonnet';
  local added = import '../lib/bounds.libsonnet';
  local callers_fault = import '../lib/invalid.libsonnet';
  local timed = 'worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase';
  local by = '%(subject)s, %(replica)s, worker, stage, le';
  local buckets(only='') = 'tritonobs_stage_duration_seconds_bucket{%(triton)s' + only + '}';
  // What failed, on servers where the stage is measured. Only the whole request fails; its parts just take their time.
  // Few servers have failures: only their rows are grouped.
  local ended(bad) = fit(|||
    group by (%(subject)s, %(replica)s, stage, le) (
      %(timed)s{stage="total"}
        and on (%(subject)s, %(replica)s)
      %(bad)s
    )
      * on (%(subject)s, %(replica)s) group_left ()
    %(bad)s
  |||, {
    timed: timed,
    bad: bad,
  });
  local failed(seen_by) = ended('replica_model_version_seen_by:triton_requests_bad:increase{seen_by="' + seen_by + '"}');
  // The caller's fault counts nowhere: it is taken off all requests, and as a fast one off those in time.
  local invalid = fit('label_replace(\n  -%(ended)s,\n  "part", "invalid", "", ""\n)', {
    ended: ended('replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}'),
  });
  local read = buckets('%(named_bounds)s');
  local counts = import '../lib/counted.libsonnet';
  local bound = counts.bounds_now;
  local named = '\nand on (%(model)s, stage, le)\n' + text.trimmed(bound);
  // Shards know no thresholds: they have rows of all bounds, and the global tier takes those that are asked for.
  local bounds = if config.tier == 'shard' then '' else named;
  local asked = if config.tier == 'global' then named else '';
  // Few of all buckets are at such a bound: what is recorded of these is all that is read of them again. The bounds
  // that were read are in the same record, labelled as such, and the SLOs that count.
  local last = 'worker_stage_le:tritonobs_stage_duration_seconds_bucket:last';
  local kept = config.tier != 'shard' && config.recordsAtOnce;
  local workers = last + '{bound=""}';
  local asked_for = last + '{bound="named"}';
  // (Where no rule was evaluated then, Prometheus was away, and what was asked for before it went is still meant.)
  local asked_before = fit(|||
    (
      %(asked)s offset %(sloInterval)s
      or
      (
        %(before)s
          unless on (%(cluster)s)
        group by (%(cluster)s) (target:triton_page_read:bool offset %(sloInterval)s)
      )
    )
  |||, { asked: asked_for, before: increase.before(counts.kept_bounds) });
  // What was kept of a bound whose rows were read an evaluation before. A worker without such a row is new and began at
  // 0, unless its page or the bound is new.
  local since = increase.before(workers) + '\nand on (%(model)s, stage, le)\n' + asked_before;
  local began = fit(|||
    on (%(replica_only)s) %(pagesNew)s
      unless on (%(model)s, stage, le)
    (
      %(asked)s
        unless on (%(model)s, stage, le)
      %(before)s
    )
  |||, { asked: asked_for, before: asked_before });
  local grown =
    if kept then fit('sum by (%(by)s) (\n  %(each)s\n)', { by: by, each: increase.each(workers, '(' + since + ')', began) })
    else increase.summed(by, read, bounds);
  // By bound, of all workers. Only here a bound is written one way: these are few rows.
  local rows = '%(subject)s, stage, le';
  // All that workers with it timed, and what failed before or without them.
  local by_bound = text.part('model_version_stage_le:tritonobs_requests_timed:increase', shards.grown, added(rows, fit(|||
    sum by (%(subject)s, stage, le) (
      (
        %(timed)s * 0
          + on (%(subject)s, %(replica)s, worker, stage) group_left ()
        %(timed)s{le="+Inf"}
      )
      or
      %(failed)s
      or
      %(invalid)s
    )
  |||, { timed: timed, failed: failed('triton'), invalid: invalid })));
  // Neither slow requests nor failed ones are in time. Which of the failed ones were slow, too, no series tells: all
  // are taken for fast.
  local in_time = text.part('model_version_stage_le:tritonobs_requests_in_time:increase', shards.grown, added(rows, fit(|||
    sum by (%(subject)s, stage, le) (
      %(timed)s
      or
      -%(failed)s
      or
      %(invalid)s
    )
  |||, { timed: timed, failed: failed('model'), invalid: invalid })));
  (
    if !kept then [] else [text.record(last, text.all([
      '(' + increase.now(read) + named + ')',
      'label_replace(' + text.trimmed(bound) + ', "bound", "named", "", "")',
      'label_replace(' + text.trimmed(counts.now()) + ', "bound", "counted", "", "")',
    ])) + shards.kept]
  ) + [
    text.record(timed, vendors(
      grown,
      function(series)
        local buckets = series + '_bucket{%(triton)s}';
        fit(|||
          sum by (%(subject)s, %(replica)s, le) (
            %(grown)s
          )
        |||, { grown: increase.each(increase.now(buckets), increase.before(buckets)) }),
      bounds
    )) + shards.kept,
    text.record('model_version_stage_le:tritonobs_requests_timed:increase', text.all([by_bound.here + asked, fit(|||
      (
        %(bounded)s * 0
          + on (%(subject)s) group_left ()
        (
          %(all)s
            - on (%(subject)s)
          %(invalid)s
          or
          %(all)s
        )
      )
    |||, { bounded: traced.bounded, all: traced.all, invalid: callers_fault })])) + shards.parts([by_bound]),
    text.record('model_version_stage_le:tritonobs_requests_in_time:increase', text.all([in_time.here + asked, fit(|||
      %(within)s
        - on (%(subject)s) group_left ()
      (
        (
          model_version:triton_requests_bad:increase
            + on (%(subject)s)
          %(invalid)s
        )
          or on (%(subject)s)
        model_version:triton_requests_bad:increase
          or on (%(subject)s)
        %(known)s * 0
      )
    |||, { within: traced.within, known: traced.known, invalid: callers_fault })])) + shards.parts([in_time]),
  ]
