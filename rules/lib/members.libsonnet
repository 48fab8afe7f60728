// Pipelines whose members call requests invalid. What fails in an ensemble only Triton counts, and a pipeline model may
// not know the outcome `invalid`; so what its members called invalid is taken off what it failed. One that tells of
// invalid requests itself is believed. All is of whole models: a pipeline and its members are on the same servers.
function(config)
  local text = (import 'text.libsonnet')(config);
  local fit = import 'fit.libsonnet';
  local unexplained = (import 'counters.libsonnet').unexplained;
  local told = 'replica_model_version_outcome:tritonobs_requests_told:increase';
  local seen = 'replica_model_version_seen_by:triton_requests_bad:increase';
  local calls = 'pipeline_stage_model:tritonobs_pipeline_calls:held';
  local rate = 'sum by (%(model)s) (model_version:triton_requests:rate%(short)s)';
  local caused = 'pipeline_model:tritonobs_requests_caused:ratio';
  local ends = 'model_outcome:tritonobs_pipeline_requests_told:increase';
  local unseen = 'model:tritonobs_pipeline_requests_untold:increase';
  local as_pipeline(rows) = fit('label_replace(\n  %(rows)s,\n  "pipeline", "$1", "model", "(.*)"\n)', { rows: rows });
  local of_pipeline(rows) = fit('label_replace(\n  %(rows)s,\n  "model", "$1", "pipeline", "(.*)"\n)', { rows: rows });
  // Pipelines that tell of invalid requests: within the longest gap, so that a pause makes no difference.
  local believed = 'group by (%(model)s) (last_over_time(' + told + '{outcome="seen"}[%(gapWindow)s]))';
  // What members called invalid and no believed pipeline did, and of what else failed in members the share of each other
  // pipeline. `read` reads a record.
  local invalid(read) =
    local all = 'sum by (%(model)s) (' + read(told + '{outcome="invalid"}') + ')';
    fit(|||
      (
        %(told)s
          unless on (%(model)s)
        %(believed)s
      )
    |||, {
      believed: believed,
      told: of_pipeline(fit(|||
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
      |||, { all: all, calls: calls, believed: as_pipeline(all) })),
    });
  local own(read) = 'sum by (%(model)s) (' + read(seen) + ')';
  // What pipelines that are believed, or the others, have of something: by the members that they call.
  local caused_by(which, rows) = fit(|||
    sum by (%(model)s) (
      %(calls)s
        * on (%(pipeline)s) group_left ()
      %(pipelines)s
    )
  |||, { calls: calls, pipelines: as_pipeline('(' + rows + '\n' + which + ' on (%(model)s)\n' + believed + ')') });
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
  local ten(record) = 'sum_over_time(' + record + '[%(span10m)s])';
  local ten_before(record) = 'sum_over_time(' + record + '[%(span10m)s]' + text.settled + ')';
  local now(record) = record;
  local part(name, rows) = fit('label_replace(\n  %(rows)s,\n  "part", "%(name)s", "", ""\n)', { rows: rows, name: name });
  {
    // An evaluation behind: what they are for takes longer.
    records: [
      // The share that a pipeline has in what its members do for others than believed pipelines; all of it while it has
      // no traffic, for the first that comes may fail. (What one member refuses never reaches the next: it may be asked
      // less often than its pipelines are.)
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
      // How many requests it got, how many failed, and how many more than what its members tell of.
      text.record(ends, fit(|||
        label_replace(
          (
            %(requests)s
              and on (%(model)s)
            %(lately)s
          ),
          "outcome", "seen", "", ""
        )
        or
        label_replace(
          (
            %(own)s
              and on (%(model)s)
            %(lately)s
          ),
          "outcome", "failed", "", ""
        )
        or
        label_replace(
          (
            sum by (%(model)s) (
              %(own_part)s
              or
              %(invalid)s
              or
              %(failed)s
            )
              and on (%(model)s)
            %(lately)s
          ),
          "outcome", "untold", "", ""
        )
      |||, {
        requests: 'sum by (%(model)s) (' + one('model_version:triton_requests:increase') + ')',
        own: own(one),
        lately: invalid(ten),
        own_part: part('own', own(one)),
        invalid: part('invalid', '-' + invalid(one)),
        failed: part('failed', '-' + failed(one)),
      })),
      text.record(unseen, unexplained(
        '%(model)s',
        ends + '{outcome="untold"}',
        ends + '{outcome="seen"}',
        'sum by (%(model)s) (' + ends + '{outcome="failed"})',
        'sum by (%(model)s) (sum_over_time(' + ends + '{outcome="failed"}[%(span10m)s]))',
        text.settled,
      )),
    ],
    // The share of its failures that a pipeline is charged: what failed in its members, and what they tell nothing of.
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
          %(own)s
            and on (%(model)s)
          %(lately)s
        ),
        1
      )
    |||, {
      failed: part('failed', failed(now)),
      unseen: part('unseen', unseen),
      // The first ones are charged before their member has told of them, and given back when it has.
      returned: part('returned', fit(|||
        (
          (%(missing)s > on (%(model)s) -%(before)s)
          or on (%(model)s)
          (-%(before)s and on (%(model)s) %(missing)s)
        )
      |||, {
        before: own(one),
        missing: fit(|||
          (
            (
              sum by (%(model)s) (
                %(own)s
                or
                %(invalid)s
                or
                %(failed)s
              ) < 0
            )
              and on (%(model)s)
            %(lately)s
              unless on (%(model)s)
            %(before)s
          )
        |||, {
          own: part('own', own(now)),
          invalid: part('invalid', '-' + invalid(now)),
          failed: part('failed', '-' + failed(now)),
          lately: invalid(ten),
          before: invalid(ten_before),
        }),
      })),
      none: own(now) + ' * 0',
      own: own(now),
      lately: invalid(ten),
    }),
  }
