// Pipelines whose members call requests invalid: which of its failures a pipeline is charged for.
//
// Only Triton counts failures of an ensemble, and a pipeline model may not know the outcome `invalid`. So the requests that
// its members called invalid are subtracted from its failures. A pipeline that reports invalid requests itself is believed,
// and keeps its own count. All rows are of whole models, since a pipeline and its members are on the same servers.
function(config)
  local text = (import 'text.libsonnet')(config);
  local fit = import 'fit.libsonnet';
  local unexplained = (import 'counters.libsonnet').unexplained;
  local told = 'replica_model_version_outcome:tritonobs_requests_told:increase';
  local seen = 'replica_model_version_seen_by:triton_requests_bad:increase{part=""}';
  local calls = 'pipeline_stage_model:tritonobs_pipeline_calls:held';
  local rate = 'sum by (%(model)s) (model_version:triton_requests:rate%(short)s)';
  local caused = 'pipeline_model:tritonobs_requests_caused:ratio';
  local ends = 'model_outcome:tritonobs_pipeline_requests_told:increase';
  local both = 'model_part:tritonobs_pipeline_requests_unaccounted:increase';
  local unseen = 'model:tritonobs_pipeline_requests_untold:increase';
  local beyond = unexplained('%(model)s', ends, ends + '{outcome="failed"}', unseen);
  local as_pipeline(rows) = fit('label_replace(\n  %(rows)s,\n  "pipeline", "$1", "model", "(.*)"\n)', { rows: rows });
  local of_pipeline(rows) = fit('label_replace(\n  %(rows)s,\n  "model", "$1", "pipeline", "(.*)"\n)', { rows: rows });
  // Pipelines that report invalid requests. They are remembered for the longest gap, so that a pause of traffic changes
  // nothing.
  local believed = 'group by (%(model)s) (last_over_time(' + told + '{outcome="seen"}[%(gapWindow)s]))';
  // Pipelines that do not report invalid requests themselves, while members of theirs did so within ten minutes.
  local lately(offset='') = fit(|||
    (
      %(pipelines)s
        unless on (%(model)s)
      %(believed)s
    )
  |||, {
    believed: believed,
    pipelines: of_pipeline(fit(|||
      group by (%(pipeline)s) (
        %(calls)s
          and on (%(model)s)
        last_over_time(%(told)s{outcome="invalid"}[%(span10m)s]%(offset)s)
      )
    |||, { calls: calls, told: told, offset: offset })),
  });
  // Requests of each pipeline that its members called invalid, without those of believed pipelines that call the same
  // member. `read` is the expression for a record over a time.
  local invalid(read) =
    local all = 'sum by (%(model)s) (' + read(told + '{outcome="invalid"}') + ')';
    of_pipeline(fit(|||
      sum by (%(pipeline)s) (
        group by (%(pipeline)s, model) (%(calls)s)
          * on (%(model)s) group_left ()
        (
          %(all)s
            - on (%(model)s)
          sum by (%(model)s) (
            group by (%(pipeline)s, model) (%(calls)s)
              * on (%(pipeline)s) group_left ()
            %(believed)s
          )
          or
          %(all)s
        )
      )
    |||, { all: all, calls: calls, believed: as_pipeline(all) }));
  local now(record) = record;
  // Failed requests of each model, as in `seen`.
  local own(read) = 'sum by (%(model)s) (' + read(seen) + ')';
  local some = '(' + own(now) + ' > 0)';
  // Sums `rows` of pipelines over the members that they call, by member: of believed pipelines with `and`, of the others
  // with `unless`.
  local caused_by(which, rows) = fit(|||
    sum by (%(model)s) (
      %(calls)s
        * on (%(pipeline)s) group_left ()
      %(pipelines)s
    )
  |||, { calls: calls, pipelines: as_pipeline('(' + rows + '\n' + which + ' on (%(model)s)\n' + believed + ')') });
  // Failures in the members of each pipeline: those that no believed pipeline reports, times the pipeline's share of the
  // member's traffic.
  local failed(read) = of_pipeline(fit(|||
    sum by (%(pipeline)s) (
      %(caused)s
        * on (%(model)s) group_left ()
      clamp_min(
        (
          %(own)s
            - on (%(model)s)
          %(believed)s
        )
        or
        %(own)s,
        0
      )
    )
  |||, { caused: caused, own: own(read), believed: caused_by('and', own(read)) }));
  local one(record) = 'sum_over_time(' + record + '[%(sloSampleWindow)s]' + text.settled + ')';
  local recently(record) = 'sum_over_time(' + record + '[%(sloFreshWindow)s]' + text.settled + ')';
  // The evaluation after that of `one`.
  local next(record) = 'sum_over_time(' + record + '[%(sloSampleWindow)s])';
  local labelled(label, name, rows) =
    fit('label_replace(\n  %(rows)s,\n  "%(label)s", "%(name)s", "", ""\n)', { rows: rows, label: label, name: name });
  local part(name, rows) = labelled('part', name, rows);
  local requests(read) = 'sum by (%(model)s) (' + read('model_version:triton_requests:increase') + ')';
  // Failures of each pipeline without what its members account for: below 0 where they account for more.
  local unaccounted(read) = fit(|||
    sum by (%(model)s) (
      %(own)s
      or
      %(invalid)s
      or
      %(failed)s
    )
  |||, {
    own: part('own', own(read)),
    invalid: part('invalid', '-' + invalid(read)),
    failed: part('failed', '-' + failed(read)),
  });
  // A ruler that writes late has not written all of the next evaluation.
  local looks_ahead = config.recordsAtOnce;
  local most = if !looks_ahead then requests(one) else fit(|||
    max by (%(model)s) (
      %(now)s
      or
      %(next)s
    )
  |||, { now: part('now', requests(one)), next: part('next', requests(next)) });
  // What the members account for too much at the next evaluation is of the failures of this one.
  local told_later(read) = fit(|||
    min by (%(model)s) (
      clamp_min(
        %(now)s
          and on (%(model)s)
        %(next)s,
        0
      )
      or
      clamp_min(
        -%(next)s
          and on (%(model)s)
        %(now)s,
        0
      )
    )
  |||, { now: read(both + '{part="now"}'), next: read(both + '{part="next"}') });
  // Only of the evaluation before: what one that was missed would have taken back is not known.
  local before(record) = 'sum_over_time(' + record + '[%(sloSampleWindow)s] offset %(sloInterval)s)';
  local untold = if !looks_ahead then unaccounted(one) else fit(|||
    sum by (%(model)s) (
      %(now)s
      or
      %(later)s
      or
      %(before)s
    )
  |||, {
    now: both + '{part="now"}',
    later: part('later', fit('-(\n  %(rows)s\n)', { rows: told_later(now) })),
    before: part('before', told_later(before)),
  });
  local unaccounted_of_both = if !looks_ahead then [] else [
    // Failures that the members do not account for, of the evaluation that the records below are about (`now`), and of the
    // one after it: members report up to a flush late.
    text.record(both, fit(|||
      (
        %(now)s
        or
        (
          %(next)s
            and on (%(model)s)
          %(written)s
        )
      )
        and on (%(model)s)
      %(lately)s
    |||, {
      now: part('now', unaccounted(one)),
      next: part('next', unaccounted(next)),
      // Recorded after those that are read here: where it is there, they are.
      written: requests(next),
      lately: lately(),
    })),
  ];
  {
    // In a group of its own, an evaluation behind: what reads them spans ten minutes.
    records: [
      // The share of a pipeline in the traffic of each member that does not come from believed pipelines. It is 1 while the
      // pipeline has no traffic, because its first request may fail. The divisor is at least the calls of the other
      // pipelines: a member that refuses a request ends it, so later members get fewer than that.
      text.record(caused, fit(|||
        clamp_max(
          sum by (%(pipeline)s, model) (%(calls)s)
            * on (%(pipeline)s) group_left ()
          %(of_pipelines)s
            / on (%(model)s) group_left ()
          (
            (
              (
                %(rate)s
                  - on (%(model)s)
                %(by_believed)s
                or
                %(rate)s
              )
                > on (%(model)s)
              %(by_others)s
            )
            or on (%(model)s)
            %(by_others)s > 0
          ),
          1
        ) > 0
        or
        group by (%(pipeline)s, model) (%(calls)s)
      |||, {
        calls: calls,
        of_pipelines: as_pipeline(rate),
        rate: rate,
        by_believed: caused_by('and', rate),
        by_others: caused_by('unless', rate),
      })),
    ] + unaccounted_of_both + [
      // Increases of pipelines with invalid requests in the ten minutes before; without any, all failures were charged. They are
      // requests (`seen`), failures (`failed`), and failures that the members do not account for, then or an evaluation later
      // (`untold`). Where traffic begins, the next evaluation shows how much it is.
      text.record(ends, fit(|||
        (
          %(rows)s
        )
          and on (%(model)s)
        %(lately)s
      |||, {
        rows: text.all([
          labelled('outcome', 'seen', most),
          labelled('outcome', 'failed', own(one)),
          labelled('outcome', 'untold', untold),
        ]),
        lately: lately(text.settled),
      })),
      text.record(unseen, text.all([beyond.charged, beyond.rows])),
    ],
    // Failures of each version that a pipeline may be charged for: of this evaluation, or, if it has none, of those before it.
    // What is known of these only now is charged, or returned, now.
    chargeable: fit(|||
      (
        sum by (%(subject)s) (%(seen)s) > 0
        or
        (
          sum by (%(subject)s) (%(recent)s)
            unless on (%(model)s)
          %(some)s
        )
      )
    |||, { seen: seen, recent: recently(seen), some: some }),
    // The share of them that a pipeline is charged for: failures in its members, and failures that no member accounts for.
    charged_share: fit(|||
      clamp_max(
        sum by (%(model)s) (
          %(failed)s
          or
          %(unseen)s
          or
          %(returned)s
          or
          %(none)s
        )
          / on (%(model)s)
        (
          (
            %(some)s
            or
            %(recent)s
          )
            and on (%(model)s)
          %(lately)s
        ),
        1
      )
    |||, {
      // Members fail for other callers, too: only in an evaluation in which the pipeline fails are failures its own.
      failed: part('failed', fit('(\n  %(failed)s\n  and on (%(model)s)\n  %(some)s\n)', { failed: failed(now), some: some })),
      unseen: part('unseen', unseen + '{part=""}'),
      // The first invalid requests are charged, because the members report them a flush later. This negative part returns
      // them: what its members report too much now, but no more than was charged before.
      returned: part('returned', fit(|||
        clamp_max(
          max by (%(model)s) (
            label_replace(
              %(unaccounted)s,
              "part", "missing", "", ""
            )
            or
            -%(before)s
          ),
          0
        )
          and on (%(model)s)
        %(any)s
          unless on (%(model)s)
        %(lately)s
      |||, {
        unaccounted: unaccounted(now),
        before: own(one),
        any: one(seen),
        lately: lately(text.settled),
      })),
      none: 'group by (%(model)s) (' + seen + ') * 0',
      some: some,
      recent: '(' + own(recently) + ' > 0)',
      lately: lately(),
    }),
  }
