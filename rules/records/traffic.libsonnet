// Requests a second: of models, and of what limits are about.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // Requests a second: how many, and how they ended. What SLOs count is in slo_requests.libsonnet.
  local requests =
    local ensembles = (import '../lib/counters.libsonnet').ensembles;
    local failed = 'model_version_reason:triton_requests_failed:rate%(short)s';
    local failing(reasons) = '(rate(nv_inference_request_failure{%(triton)s' + reasons + '}[%(short)s]) > 0)';
    local none(reason) =
      'label_replace(model_version:triton_requests_succeeded:rate%(short)s * 0, "reason", "' + reason + '", "", "")';
    [
      text.record('replica_model_version:triton_requests_succeeded:rate%(short)s', |||
        sum by (%(subject)s, %(replica)s) (rate(nv_inference_request_success{%(triton)s}[%(short)s]))
      |||) + shards.sum,
      text.record('model_version:triton_requests_succeeded:rate%(short)s', |||
        sum by (%(subject)s) (replica_model_version:triton_requests_succeeded:rate%(short)s)
      |||),
      // Nearly all failure counters do not move: only those that move are joined with what their model is. Failures of a
      // model that was unloaded stay on the page: without successes, history.
      text.record(failed, fit(|||
        (
          %(failed)s
          and on (%(subject)s)
          model_version:triton_requests_succeeded:rate%(short)s
        )
        or
        %(none)s
      |||, {
        failed: ensembles(
          function(reasons) text.given(failed, shards.sum, failing(', ' + reasons), reasons),
          'group by (%(model)s) (model_version:triton_requests_succeeded:rate%(short)s)',
        ),
        none: text.all([none(reason) for reason in ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER']]),
      })) + shards.parts([text.part(failed, shards.sum, 'sum by (%(subject)s, reason) ' + failing(''))]),
      text.record('model_version_outcome:tritonobs_requests:rate%(short)s', |||
        sum by (%(subject)s, outcome) (rate(tritonobs_requests_total{%(triton)s}[%(short)s]))
      |||) + shards.sum,
      text.record('model_version:triton_requests:rate%(short)s', |||
        (
          model_version:triton_requests_succeeded:rate%(short)s
            + on (%(subject)s)
          sum by (%(subject)s) (model_version_reason:triton_requests_failed:rate%(short)s > 0)
        )
        or
        model_version:triton_requests_succeeded:rate%(short)s
      |||),
    ] + (
      if config.mediumWindow == config.shortWindow then [] else [
        text.record('model_version:triton_requests:rate%(medium)s', |||
          avg_over_time(model_version:triton_requests:rate%(short)s[%(medium)s])
          and
          model_version:triton_requests:rate%(short)s
        |||),
      ]
    );

  // Traffic as limits are about it: of a model version, of a model over all versions, of the whole fleet.
  local subjects =
    // What the queues grew by a second, without what servers that just came back completed.
    local queued = text.part('model_version:triton_requests_queued:rate%(short)s', shards.sum, |||
      sum by (%(subject)s) (
        delta(nv_inference_pending_request_count{%(triton)s}[%(short)s]) / %(shortSeconds)s
        or
        label_replace(
          -(
            replica_model_version:triton_requests_succeeded:rate%(short)s
              and on (%(replica_only)s)
            replica:triton_returned:info
          ),
          "returned", "1", "", ""
        )
      )
    |||);
    // What a missing shard had ends at once, and with it what tells a version from its model: so does its mean.
    local still =
      if config.tier != 'global' then '' else '  and on (%(subject)s)\nsubject:triton_requests_offered:rate%(short)s\n';
    // A rate of model versions, of models over their versions, and of the fleet.
    local subjects(versions, fleet='sum by (%(cluster)s) (' + versions + ')') = fit(|||
      %(versions)s
      or
      sum by (%(model)s) (%(versions)s)
      or
      %(fleet)s
    |||, { versions: text.trimmed(versions), fleet: text.trimmed(fleet) });
    [
      // What clients ask of a model: all of its traffic but what pipelines cause. Pipelines that give up early cause
      // less than assumed, never more.
      text.record('model:triton_requests_from_clients:rate%(short)s', |||
        clamp_min(
          sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
            - on (%(model)s)
          sum by (%(model)s) (
            pipeline_stage_model:tritonobs_pipeline_calls:held
              * on (%(pipeline)s) group_left ()
            label_replace(
              sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
                and on (%(model)s)
              label_replace(group by (%(pipeline)s) (pipeline_stage_model:tritonobs_pipeline_calls:held), "model", "$1", "pipeline", "(.*)"),
              "pipeline", "$1", "model", "(.*)"
            )
          ),
          0
        )
        or
        sum by (%(model)s) (model_version:triton_requests:rate%(short)s)
      |||),
      text.record(
        'subject:triton_requests:rate%(short)s',
        subjects(
          'model_version:triton_requests:rate%(short)s',
          'sum by (%(cluster)s) (model:triton_requests_from_clients:rate%(short)s)'
        )
      ),
      text.record('subject:triton_requests:rate5m', |||
        avg_over_time(subject:triton_requests:rate%(short)s[%(span5m)s])
        and
        subject:triton_requests:rate%(short)s
      |||),
      // What limits are compared with: what came in, so what was completed and what the queue grew by. A model that
      // completes 7 requests a second while 14 more queue up is offered 21. `delta` bridges lost scrapes as `rate` does.
      // A server that just came back adds nothing: it catches up.
      // (An ensemble queues nothing, and reports that under another version: its row has no partner.)
      text.record('model_version:triton_requests_offered:rate%(short)s', fit(|||
        clamp_min(
          (
            model_version:triton_requests:rate%(short)s
              + on (%(subject)s)
            %(queued)s
          )
          or
          model_version:triton_requests:rate%(short)s,
          0
        )
      |||, { queued: queued.here })) + shards.parts([queued]),
      text.record(
        'subject:triton_requests_offered:rate%(short)s',
        subjects('model_version:triton_requests_offered:rate%(short)s', |||
          sum by (%(cluster)s) (model:triton_requests_from_clients:rate%(short)s)
            + on (%(cluster)s)
          (
            sum by (%(cluster)s) (model_version:triton_requests_offered:rate%(short)s)
              - on (%(cluster)s)
            sum by (%(cluster)s) (model_version:triton_requests:rate%(short)s)
          )
        |||)
      ),
      text.record('subject:triton_requests_offered:rate5m', |||
        avg_over_time(subject:triton_requests_offered:rate%(short)s[%(span5m)s])
        and
        subject:triton_requests_offered:rate%(short)s
      |||),
      // The exact mean of a quarter of an hour, of three rows instead of hundreds. Only limits ask for it.
      text.record('subject:triton_requests_offered:mean15m', |||
        (
          (subject:triton_requests_offered:rate5m and on (%(subject)s) subject:tritonobs_qps_limit:held)
            + on (%(subject)s)
          subject:triton_requests_offered:rate5m offset %(span5m)s
            + on (%(subject)s)
          subject:triton_requests_offered:rate5m offset %(span10m)s
        ) / 3
      |||),
      // Between the last two scrapes: bursts that every longer window hides. A server whose last scrape was lost adds
      // nothing: what it did before is old.
      text.record('model_version:triton_requests_offered:irate%(short)s', |||
        sum by (%(subject)s) (
          (
            irate(nv_inference_request_success{%(triton)s}[%(short)s])
            or
            label_replace(
              idelta(nv_inference_pending_request_count{%(triton)s}[%(short)s]) / %(scrapeSeconds)s,
              "counted", "queued", "", ""
            )
          )
          unless on (%(replica_only)s)
          ((up{%(triton)s} == 0) or replica:triton_returned:info)
        )
      |||) + shards.sum,
      // Only limits ask for this and the next.
      text.record('subject:triton_requests_offered:irate%(short)s', fit(|||
        (
          %(all)s
        )
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      |||, { all: subjects('model_version:triton_requests_offered:irate%(short)s') })),
      // The last minute, in which an excess must go on.
      text.record('subject:triton_requests_offered:mean%(medium)s', |||
        avg_over_time(subject:triton_requests_offered:rate%(short)s[%(medium)s])
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      ||| + still),
      // Versions of which a limit would say but the same as of their model: all the traffic is theirs, and their limit is
      // no tighter. While a model has one version, an overflow is one alert.
      text.record('model_version:tritonobs_limit_of_model:info', |||
        group by (%(subject)s) (
          (
            subject:triton_requests_offered:rate%(short)s{version!=""}
              and on (%(subject)s)
            (
              subject:tritonobs_qps_limit:held{version!=""}
                >= on (%(model)s) group_left ()
              subject:tritonobs_qps_limit:held{model!="", version=""}
            )
          )
            == on (%(model)s) group_left ()
          subject:triton_requests_offered:rate%(short)s{model!="", version=""}
        )
      |||),
    ];
  { requests: requests, subjects: subjects }
