// Requests that SLOs count, since the evaluation before: every one that Triton's counters and our own showed, once.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local ensembles = import '../lib/ensembles.libsonnet';
  local increase = import '../lib/increase.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local succeeded = 'nv_inference_request_success{%(triton)s}';
  // What counters showed at each evaluation: what was counted then, also where Prometheus was away after it. Most
  // counters of bad requests are 0 for ever: what is recorded of the others is all that is read of them.
  local last = 'target:triton_requests:last';
  local done = last + '{counted="success"}';
  local told = 'replica_model_version_outcome:tritonobs_requests_told:increase';
  local counted(outcomes) = 'tritonobs_requests_total{%(triton)s, outcome' + outcomes + '}';
  local replied = counted('=~"error|invalid|ok|rejected"');
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
  // What workers told of these outcomes.
  local grown(outcomes) =
    local known = last + '{outcome' + outcomes + '}';
    local each = increase.each(known, increase.before(known));
    if config.recordsAtOnce then 'sum by (%(subject)s, %(replica)s) (\n  ' + each + '\n)'
    else increase.summed('%(subject)s, %(replica)s', counted(outcomes));
  local bad = grown('=~"error|rejected"');
  local invalid = grown('="invalid"');
  // Of models that tell of invalid requests, what succeeded is recorded once more: few rows are read of an hour.
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
  // Models on servers where one of their workers told of invalid requests. What the cache answers no worker sees.
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
  local ok =
    local known = last + '{outcome="ok"}';
    local all = counted('="ok"');
    if config.recordsAtOnce then increase.each(known, increase.before(known))
    else increase.each(increase.now(all), increase.before(all));
  local ended(part, rows) = 'label_replace(\n  ' + std.strReplace(rows, '\n', '\n  ') + ',\n  "part", "' + part + '", "", ""\n)';
  // Failures inside of models, as Triton's counters show them.
  local members = (import '../lib/members.libsonnet')(config);
  local in_model = failed('reason=~"BACKEND|"');
  local ended_as(outcome, rows) = fit(|||
    label_replace(
      %(rows)s,
      "outcome", "%(outcome)s", "", ""
    )
  |||, { rows: rows, outcome: outcome });
  local unexplained = import '../lib/unexplained.libsonnet';
  local backend = fit(|||
    sum by (%(subject)s, %(replica)s) (
      replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"}
    )
  |||, {});
  local own = told + '{outcome="bad"}';
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
    // (A shard does not know what is an ensemble.)
    text.record(failures, ensembles(
      function(reasons) text.given(failures, shards.grown, failed(reasons), reasons),
      'group by (%(model)s) (subject:tritonobs_owner:info{model!=""})',
      ', %(replica)s'
    )) + shards.parts([
      text.part(failures, shards.grown, 'sum by (%(subject)s, %(replica)s, reason) ' + failed('')),
    ]),
    // How requests ended that did not end well, as the model itself told it; and of models that tell of invalid ones, how
    // many Triton saw, and how many of these the model told nothing of.
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
          %(ok)s
          or
          %(bad)s
          or
          %(invalid)s
        )
        and on (%(subject)s, %(replica)s)
        %(tell_invalid)s
      |||, {
        succeeded: successes_of_telling,
        failed: ended('failed', in_model),
        ok: ended('ok', '-(\n  ' + ok + '\n)'),
        bad: ended('bad', '-' + bad),
        invalid: ended('invalid', '-' + invalid),
        tell_invalid: tell_invalid,
      })),
    ])) + shards.grown,
    // What ended badly. An error reply is a success to Triton, a dead worker counts nothing itself: of both views of
    // what the model did on a server, the worse is true. What never reached the model only Triton saw. (No reason:
    // before 24.07.) Invalid requests may be in either of Triton's counts: where a model tells of them, what it told
    // nothing of at all is what Triton alone saw.
    text.record('replica_model_version_seen_by:triton_requests_bad:increase', fit(|||
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
    |||, {
      backend: backend,
      own: own,
      untold: told + '{outcome="untold"}',
      unseen: ended('unseen', unexplained(
        '%(subject)s, %(replica)s',
        told + '{outcome="untold"}',
        told + '{outcome="seen"}',
        backend,
        'sum by (%(subject)s, %(replica)s) (\n  sum_over_time(replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"}[%(span10m)s])\n)',
        text.settled,
      )),
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
    // Of a pipeline without what its members called invalid.
    text.record('model_version:triton_requests_bad:increase', fit(|||
      sum by (%(subject)s) (replica_model_version_seen_by:triton_requests_bad:increase)
        * on (%(model)s) group_left ()
      %(passed_on)s
      or
      sum by (%(subject)s) (replica_model_version_seen_by:triton_requests_bad:increase)
      or
      model_version:triton_requests:increase * 0
    |||, { passed_on: members.charged_share })),
  ]
