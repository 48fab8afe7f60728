// Requests that SLOs count, since the evaluation before: every one that Triton's counters and our own showed, once.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local ensembles = import '../lib/ensembles.libsonnet';
  local increase = import '../lib/increase.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local succeeded = 'nv_inference_request_success{%(triton)s}';
  // Most counters of bad requests are 0 for ever: what is recorded of the others is all that is read of them.
  local last = 'target:triton_requests_bad:last';
  local replied = 'tritonobs_requests_total{%(triton)s, outcome=~"error|rejected"}';
  local failed(reasons) =
    local known = last + '{outcome=""' + (if reasons == '' then '' else ', ' + reasons) + '}';
    local all = 'nv_inference_request_failure{%(triton)s' + (if reasons == '' then '' else ', ' + reasons) + '}';
    local each = if config.recordsAtOnce
    then increase.each(known, increase.before(known))
    else increase.each(increase.now(all), increase.before(all));
    fit('((\n  %(each)s\n) > 0)', { each: each });
  local failures = 'replica_model_version_reason:triton_requests_failed:increase';
  local completed = 'model_version:triton_requests:increase';
  local successes = increase.each(increase.now(succeeded), increase.before(succeeded));
  local backend = fit(|||
    sum by (%(subject)s, %(replica)s) (
      replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"}
    )
  |||, {});
  [
    text.record('target:triton_page_read:bool', text.page_read) + shards.kept,
  ] + (
    if !config.recordsAtOnce then [] else [
      text.record('replica:triton_pages_new:count', text.pages_new) + shards.kept,
      text.record(last, fit(|||
        %(failed)s > 0
        or
        %(replied)s > 0
      |||, { failed: increase.now('nv_inference_request_failure{%(triton)s}'), replied: increase.now(replied) })) + shards.kept,
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
    // Errors with which the model itself replied.
    text.record('replica_model_version:tritonobs_requests_bad:increase', fit('(\n  %(grown)s\n) > 0', {
      local known = last + '{outcome!=""}',
      local each = increase.each(known, increase.before(known)),
      grown: if config.recordsAtOnce then 'sum by (%(subject)s, %(replica)s) (\n  ' + each + '\n)'
      else increase.summed('%(subject)s, %(replica)s', replied),
    })) + shards.grown,
    // What ended badly. An error reply is a success to Triton, a dead worker counts nothing itself: of both views of
    // what the model did on a server, the worse is true. What never reached the model only Triton saw. (No reason:
    // before 24.07.)
    text.record('replica_model_version_seen_by:triton_requests_bad:increase', fit(|||
      label_replace(replica_model_version:tritonobs_requests_bad:increase, "seen_by", "model", "", "")
      or
      label_replace(
        sum by (%(subject)s, %(replica)s) (
          replica_model_version_reason:triton_requests_failed:increase{reason!~"BACKEND|CANCELED|"}
          or
          (
            %(backend)s
              - on (%(subject)s, %(replica)s)
            replica_model_version:tritonobs_requests_bad:increase
              > 0
          )
          or
          (
            %(backend)s
              unless on (%(subject)s, %(replica)s)
            replica_model_version:tritonobs_requests_bad:increase
          )
        ),
        "seen_by", "triton", "", ""
      )
    |||, { backend: backend })) + shards.both,
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
    text.record('model_version:triton_requests_bad:increase', |||
      sum by (%(subject)s) (replica_model_version_seen_by:triton_requests_bad:increase)
      or
      model_version:triton_requests:increase * 0
    |||),
  ]
