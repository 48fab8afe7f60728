// Requests that SLOs count, as increases since the previous evaluation: all requests, those in time, and bad ones.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
local increase = (import '../lib/counters.libsonnet').increase;
local counts = (import '../lib/counters.libsonnet').counted;
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local members = (import '../lib/members.libsonnet')(config);

  // All and bad requests, from Triton's counters and our own, each request once.
  local requests =
    local ensembles = (import '../lib/counters.libsonnet').ensembles;
    local succeeded = 'nv_inference_request_success{%(triton)s}';
    // The record of counter values at each evaluation. After a gap of Prometheus, increases are computed from the last value
    // that it counted. Counters of bad requests at 0, which are most, are omitted, and the next evaluation reads only this
    // record.
    local last = 'target:triton_requests:last';
    local done = last + '{counted="success"}';
    local told = 'replica_model_version_outcome:tritonobs_requests_told:increase';
    local counted(outcomes) = 'tritonobs_requests_total{%(triton)s, outcome' + outcomes + '}';
    // A cancelled reply is a success to Triton, and the model reported it like any other.
    local replied = counted('=~"cancelled|error|invalid|ok|rejected"');
    // Failures in Triton's counters that match `reasons`, by series.
    local failed(reasons) =
      local known = last + '{outcome="", counted=""' + (if reasons == '' then '' else ', ' + reasons) + '}';
      local all = 'nv_inference_request_failure{%(triton)s' + (if reasons == '' then '' else ', ' + reasons) + '}';
      local each = if config.recordsAtOnce
      then increase.each(known, increase.before_some(known))
      else increase.each(increase.now(all), increase.before(all));
      fit('((\n  %(each)s\n) > 0)', { each: each });
    local failures = 'replica_model_version_reason:triton_requests_failed:increase';
    local completed = 'model_version:triton_requests:increase';
    local successes = if config.recordsAtOnce
    then increase.each(done, increase.before(done))
    else increase.each(increase.now(succeeded), increase.before(succeeded));
    // Requests with these outcomes in the workers' own counters, by version and server.
    local grown(outcomes) =
      local known = last + '{outcome' + outcomes + '}';
      local each = increase.each(known, increase.before(known));
      if config.recordsAtOnce then 'sum by (%(subject)s, %(replica)s) (\n  ' + each + '\n)'
      else increase.summed('%(subject)s, %(replica)s', counted(outcomes));
    local bad = grown('=~"error|rejected"');
    local invalid = grown('="invalid"');
    // Successes of models that report invalid requests are recorded a second time, so that `before` reads an hour of few
    // rows.
    local of_telling = last + '{counted="telling"}';
    local successes_of_telling = if !config.recordsAtOnce then successes else increase.each(of_telling, fit(|||
      (
        label_replace(
          %(done)s offset %(sloInterval)s
            and on (%(subject)s, %(replica)s)
          %(telling)s,
          "counted", "telling", "", ""
        )
        or
        %(before)s
      )
    |||, { done: done, telling: of_telling, before: increase.before(of_telling) }));
    // Model versions and servers with a worker that reported invalid requests. Models with cache hits are excluded, because
    // workers do not see requests that the cache answers.
    local tell_invalid = fit(|||
      (
        group by (%(subject)s, %(replica)s) (%(invalid)s > 0)
          unless on (%(subject)s, %(replica)s)
        (%(hits)s > 0)
      )
    |||, {
      invalid: if config.recordsAtOnce then last + '{outcome="invalid"}' else increase.now(counted('="invalid"')),
      hits: increase.now('nv_cache_num_hits_per_model{%(triton)s}'),
    });
    // All outcomes of models that report invalid requests, which are few.
    local of_reporting =
      local known = last + '{outcome!=""}';
      increase.each(fit(|||
        (
          %(known)s
            and on (%(subject)s, %(replica)s)
          %(invalid)s
        )
      |||, { known: known, invalid: last + '{outcome="invalid"}' }), increase.before(known));
    local good = counted('=~"cancelled|ok"');
    local ok = increase.each(increase.now(good), increase.before(good));
    local ended(part, rows) = 'label_replace(\n  ' + std.strReplace(rows, '\n', '\n  ') + ',\n  "part", "' + part + '", "", ""\n)';
    // Failures inside models, by Triton's counters.
    local in_model = if config.recordsAtOnce then failures + '{reason=~"BACKEND|"}' else failed('reason=~"BACKEND|"');
    local ended_as(outcome, rows) = fit(|||
      label_replace(
        %(rows)s,
        "outcome", "%(outcome)s", "", ""
      )
    |||, { rows: rows, outcome: outcome });
    local unexplained = (import '../lib/counters.libsonnet').unexplained;
    local backend = fit(|||
      sum by (%(subject)s, %(replica)s) (
        replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"}
      )
    |||, {});
    local own = told + '{outcome="bad"}';
    local seen = 'replica_model_version_seen_by:triton_requests_bad:increase';
    local beyond = unexplained('%(subject)s, %(replica)s', told, failures + '{reason=~"BACKEND|"}', seen);
    [
      text.record('target:triton_page_read:bool', text.page_read) + shards.kept,
    ] + (
      if !config.recordsAtOnce then [] else [
        text.record('replica:triton_pages_new:count', text.pages_new) + shards.kept,
        text.record(last, fit(|||
          %(failed)s > 0
          or
          %(replied)s > 0
          or
          label_replace(%(succeeded)s, "counted", "success", "", "")
          or
          label_replace(
            %(succeeded)s
              and on (%(subject)s, %(replica)s)
            (%(invalid)s > 0),
            "counted", "telling", "", ""
          )
        |||, {
          invalid: increase.now(counted('="invalid"')),
          failed: increase.now('nv_inference_request_failure{%(triton)s}'),
          replied: increase.now(replied),
          succeeded: increase.now(succeeded),
        })) + shards.kept,
      ]
    ) + [
      // A shard does not know which models are ensembles, so the global tier corrects their failures.
      text.record(failures, ensembles(
        function(reasons) text.given(failures, shards.grown, failed(reasons), reasons),
        // The models of these failures, in the record of this evaluation; owners are recorded in another group.
        if config.recordsAtOnce && config.tier != 'global'
        then 'group by (%(model)s) (' + last + '{outcome="", counted=""})'
        else 'group by (%(model)s) (subject:tritonobs_owner:info{model!=""})',
        ', %(replica)s'
      )) + shards.parts([
        text.part(failures, shards.grown, 'sum by (%(subject)s, %(replica)s, reason) ' + failed('')),
      ]),
      // What models reported of requests that did not end well (`bad`, `invalid`). For models that report invalid requests
      // also all requests in Triton's counters (`seen`), and those that the model reported nothing of (`untold`).
      text.record(told, text.all([
        ended_as('bad', fit('(\n  %(grown)s\n) > 0', { grown: bad })),
        ended_as('invalid', fit('(\n  %(grown)s\n) > 0', { grown: invalid })),
        ended_as('seen', fit(|||
          sum by (%(subject)s, %(replica)s) (
            %(succeeded)s
            or
            %(failed)s
          )
          and on (%(subject)s, %(replica)s)
          %(tell_invalid)s
        |||, { succeeded: successes_of_telling, failed: ended('failed', in_model), tell_invalid: tell_invalid })),
        ended_as('untold', fit(|||
          sum by (%(subject)s, %(replica)s) (
            %(succeeded)s
            or
            %(failed)s
            or
            %(told)s
          )
          and on (%(subject)s, %(replica)s)
          %(tell_invalid)s
        |||, {
          succeeded: successes_of_telling,
          failed: ended('failed', in_model),
          told: if config.recordsAtOnce then ended('told', '-(\n  ' + of_reporting + '\n)') else text.all([
            ended('ok', '-(\n  ' + ok + '\n)'),
            ended('bad', '-' + bad),
            ended('invalid', '-' + invalid),
          ]),
          tell_invalid: tell_invalid,
        })),
      ])) + shards.grown,
      // Bad requests by version and server, as `model` or `triton` saw them. An error reply is a success to Triton, and a
      // dead worker counts nothing, so for failures inside a model the larger count is used: the model's own, plus what
      // Triton counts beyond it. Other failures are only in Triton's counters. Reasons are empty before 24.07. Triton counts
      // an invalid request as a success or as a failure. So for a model that reports invalid requests, Triton's part is what
      // the model reported nothing of (`unexplained`); rows with a `part` are for its next evaluation, and no requests.
      text.record(seen, fit(|||
        label_replace(sum by (%(subject)s, %(replica)s) (%(own)s), "seen_by", "model", "", "")
        or
        label_replace(
          sum by (%(subject)s, %(replica)s) (
            replica_model_version_reason:triton_requests_failed:increase{reason!~"BACKEND|CANCELED|"}
            or
            (
              (
                %(backend)s
                  - on (%(subject)s, %(replica)s)
                %(own)s
                  > 0
              )
              unless on (%(subject)s, %(replica)s)
              %(untold)s
            )
            or
            (
              %(backend)s
                unless on (%(subject)s, %(replica)s)
              (%(own)s or on (%(subject)s, %(replica)s) %(untold)s)
            )
            or
            %(unseen)s
          ),
          "seen_by", "triton", "", ""
        )
        or
        %(parts)s
      |||, {
        backend: backend,
        own: own,
        untold: told + '{outcome="untold"}',
        unseen: ended('unseen', beyond.charged),
        parts: beyond.rows,
      })) + shards.both,
      text.record(completed, fit(|||
        sum by (%(subject)s) (
          (
            %(succeeded)s
          )
          or
          replica_model_version_reason:triton_requests_failed:increase
        )
      |||, { succeeded: text.given(completed, shards.grown, successes) })) + shards.parts([
        text.part(completed, shards.grown, fit('sum by (%(subject)s) (\n  %(each)s\n)', { each: successes })),
      ]),
      // Bad requests that are charged: pipelines without the requests that their members called invalid.
      text.record('model_version:triton_requests_bad:increase', fit(|||
        %(chargeable)s
          * on (%(model)s) group_left ()
        %(share)s
        or
        sum by (%(subject)s) (replica_model_version_seen_by:triton_requests_bad:increase{part=""})
        or
        model_version:triton_requests:increase * 0
      |||, { chargeable: members.chargeable, share: members.charged_share })),
    ];

  // Requests within each bound that a latency threshold names, and all of them (+Inf), by worker, stage and bound. A worker
  // whose histogram lacks the bound has no row, so its requests are not measured.
  local timed =
    local traced = (import '../lib/counters.libsonnet').traced;
    local vendors = (import '../lib/counters.libsonnet').vendors;
    local added = (import '../lib/counters.libsonnet').bounds;
    local callers_fault = (import '../lib/counters.libsonnet').invalid;
    local timed = 'worker_stage_le:tritonobs_stage_duration_seconds_bucket:increase';
    local by = '%(subject)s, %(replica)s, worker, stage, le';
    local buckets(only='') = 'tritonobs_stage_duration_seconds_bucket{%(triton)s' + only + '}';
    // Failed requests, for servers where the stage `total` is measured. A failure concerns the whole request, not its parts.
    // The rows are grouped only on servers with failures, which are few.
    local ended(bad) = fit(|||
      group by (%(subject)s, %(replica)s, stage, le) (
        %(timed)s{stage="total"}
          and on (%(subject)s, %(replica)s)
        (
          %(bad)s
        )
      )
        * on (%(subject)s, %(replica)s) group_left ()
      sum by (%(subject)s, %(replica)s) (
        %(bad)s
      )
    |||, {
      timed: timed,
      bad: bad,
    });
    // Failed requests minus `invalid` ones, which count neither as good nor as bad: they are subtracted from all requests, and
    // from those in time, as if they had been fast. Both are of one server and version, so the rows are read once.
    local without(sign, seen_by) = ended(fit(|||
      %(sign)sreplica_model_version_seen_by:triton_requests_bad:increase{seen_by="%(seen_by)s"}
      or
      -replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}
    |||, { sign: sign, seen_by: seen_by }));
    local read = buckets('%(named_bounds)s');
    local bound = counts.bounds_now;
    local named = '\nand on (%(model)s, stage, le)\n' + text.trimmed(bound);
    // Shards know no thresholds, so they record all bounds, and the global tier selects those that are named.
    local bounds = if config.tier == 'shard' then '' else named;
    local asked = if config.tier == 'global' then named else '';
    // Few buckets are at such a bound, so those are recorded, and the next evaluation reads only the record. The same record
    // has the named bounds and the SLOs in force, with labels of their own, so that all three are of the same evaluation.
    local last = 'worker_stage_le:tritonobs_stage_duration_seconds_bucket:last';
    local kept = config.tier != 'shard' && config.recordsAtOnce;
    local workers = last + '{bound=""}';
    local asked_for = last + '{bound="named"}';
    // The bounds that were named at the previous evaluation. Where no rule was evaluated then, Prometheus was down, and the
    // bounds before that count.
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
    // The previous values of bounds that were named at the previous evaluation. A worker without one is new and began at 0,
    // unless its page or the bound is new: then its value is history.
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
    // By version, stage and bound, summed over workers. Only here is a bound rewritten to one notation, because these rows
    // are few.
    local rows = '%(subject)s, stage, le';
    // All requests of workers that have the bound, and failures that the model did not report. Invalid ones are subtracted.
    local by_bound = text.part('model_version_stage_le:tritonobs_requests_timed:increase', shards.grown, added(rows, fit(|||
      sum by (%(subject)s, stage, le) (
        (
          %(timed)s * 0
            + on (%(subject)s, %(replica)s, worker, stage) group_left ()
          %(timed)s{le="+Inf"}
        )
        or
        %(others)s
      )
    |||, { timed: timed, others: without('', 'triton') })));
    // Requests in time: within the bound, and not failed. Which failed requests were slow, too, is in no series, so all are
    // assumed to have been fast.
    local in_time = text.part('model_version_stage_le:tritonobs_requests_in_time:increase', shards.grown, added(rows, fit(|||
      sum by (%(subject)s, stage, le) (
        %(timed)s
        or
        %(others)s
      )
    |||, { timed: timed, others: without('-', 'model') })));
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
          |||, { grown: increase.written(buckets) }),
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
    ];

  // Valid and bad requests of each SLO, increases since the previous evaluation. All windows are sums of these.
  local counted_for_slos =
    // SLOs in force. One Prometheus that reads records at once takes them from the record of buckets (`timed`), where they
    // are of the same evaluation.
    local counted(stage) = if config.recordsAtOnce && config.tier == 'all' then fit(|||
      group by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo, stage, le) (
        worker_stage_le:tritonobs_stage_duration_seconds_bucket:last{bound="counted", %(stage)s}
      )
    |||, { stage: stage }) else counts.now(stage);
    // Availability: SLOs without a latency threshold, for every version, and for the model over all versions. Rows have the
    // labels of the objective. Few models have invalid requests. SLOs that charge them, or (`which` is `unless`) the others,
    // have `added` beside `series`.
    local available(series, which, added) =
      local of(slos, rows) = fit(|||
        %(slos)s
          * on (%(subject)s) group_left ()
        (
          %(rows)s
          or
          sum by (%(model)s) (%(rows)s)
        )
      |||, { slos: slos, rows: rows });
      fit(|||
        sum by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo) (
          %(all)s
          or
          label_replace(
            %(some)s,
            "part", "invalid", "", ""
          )
        )
      |||, {
        all: of(counted('stage=""'), series),
        some: of(fit(|||
          (
            %(counted)s
              %(which)s on (%(subject)s, slo)
            subject_slo:tritonobs_slo_invalid_charged:held
          )
        |||, { counted: counted('stage=""'), which: which }), added),
      });
    local invalid = (import '../lib/counters.libsonnet').invalid;
    // Latency: requests at the bound of the SLO's threshold.
    local by_bound(series) = fit(|||
      sum by (%(subject)s, slo, sloth_id, sloth_service, sloth_slo) (
        %(counted)s
          * on (%(subject)s, stage, le) group_left ()
        (
          %(series)s
          or
          sum by (%(model)s, stage, le) (%(series)s)
        )
      )
    |||, { series: series, counted: counted('stage!=""') });
    [
      text.record('slo:sli_valid_requests:increase', text.all([
        available('model_version:triton_requests:increase', 'unless', fit(|||
          (
            -%(invalid)s
              and on (%(subject)s)
            model_version:triton_requests:increase
          )
        |||, { invalid: invalid })),
        by_bound('model_version_stage_le:tritonobs_requests_timed:increase' + text.late('sloInterval')),
      ])),
      text.record('slo:sli_bad_requests:increase', text.all([
        available('model_version:triton_requests_bad:increase', 'and', invalid),
        fit(|||
          (
            slo:sli_valid_requests:increase%(late)s
              -
            clamp_min(
              %(in_time)s,
              0
            )
          )
        |||, {
          late: text.late('sloInterval'),
          in_time: by_bound('model_version_stage_le:tritonobs_requests_in_time:increase' + text.late('sloFreshWindow')),
        }),
      ])),
    ];

  // Of SLOs on traces, which are a sample.
  local sampled = [
    // The least number of traced requests behind the bad requests of an SLO: bad requests divided by the highest weight. A
    // hundred bad ones sampled 1 in 100 are one.
    text.record('slo:sli_bad_samples:increase', |||
      (
        slo:sli_bad_requests:increase
        and on (%(subject)s, slo)
        subject_slo:tritonobs_latency_target_seconds:held{stage="traces:request"}
      )
        / on (%(model)s) group_left ()
      max by (%(model)s) (tritonobs_trace_weight{%(traces)s})
    |||),
  ];
  { requests: requests, timed: timed, counted_for_slos: counted_for_slos, sampled: sampled }
