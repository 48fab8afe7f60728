// Requests a second: of models, and of the subjects of limits.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // Rates of requests and of their outcomes. slo_requests.libsonnet has the requests that SLOs count.
  local requests =
    local ensembles = (import '../lib/counters.libsonnet').ensembles;
    local failed = 'model_version_reason:triton_requests_failed:rate%(short)s';
    local failing(reasons) = '(rate(nv_inference_request_failure{%(triton)s' + reasons + '}[%(short)s]) > 0)';
    local none(reason) =
      'label_replace(model_version:triton_requests_succeeded:rate%(short)s * 0, "reason", "' + reason + '", "", "")';
    [
      // Servers that answer again after they were unreachable. They work off what has queued, in a burst that is not the
      // present traffic. It precedes the rates that leave them out: in another group it would sometimes be late for their
      // first two pages.
      text.record('replica:triton_returned:info', |||
        group by (%(replica_only)s) (max_over_time(replica:triton_unreachable:info[%(returnWindow)s]))
          and on (%(replica_only)s)
        (up{%(triton)s} == 1)
          and on (%(replica_only)s)
        up{%(triton)s} offset %(span5m)s
      |||) + shards.max,
      text.record('replica_model_version:triton_requests_succeeded:rate%(short)s', |||
        sum by (%(subject)s, %(replica)s) (rate(nv_inference_request_success{%(triton)s}[%(short)s]))
      |||) + shards.sum,
      text.record('model_version:triton_requests_succeeded:rate%(short)s', |||
        sum by (%(subject)s) (replica_model_version:triton_requests_succeeded:rate%(short)s)
      |||),
      // Nearly all failure counters stand still. Only those that move are joined with the kind of their model (`ensembles`).
      // Triton keeps the failure counter of an unloaded model on its page, so failures without a row of successes are
      // history.
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

  // Traffic by the subjects of limits: a model version, a model over all versions, and the fleet.
  local subjects =
    // The rate at which queues grow, without what servers that have just returned complete.
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
    // The global tier only. The rows of a missing shard end at once, `limit_of_model` included, which keeps a model with one
    // version to one alert. A mean must end with them, or the version would have an alert of its own.
    local still =
      if config.tier != 'global' then '' else '  and on (%(subject)s)\nsubject:triton_requests_offered:rate%(short)s\n';
    // The union of the rate of model versions, its sum by model, and the rate of the fleet.
    local subjects(versions, fleet='sum by (%(cluster)s) (' + versions + ')') = fit(|||
      %(versions)s
      or
      sum by (%(model)s) (%(versions)s)
      or
      %(fleet)s
    |||, { versions: text.trimmed(versions), fleet: text.trimmed(fleet) });
    [
      // Requests from clients: the traffic of a model without the calls that pipelines make. A pipeline that ends early
      // makes fewer calls than `calls` says, never more, so this may be too low but never too high.
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
      // The rate that limits are compared with: completed requests, plus the growth of the queue. A model that completes 7
      // requests a second while 14 a second are added to its queue is offered 21. `delta` bridges lost scrapes as `rate`
      // does. A server that has just returned adds nothing, because it works off what has queued. An ensemble has no queue,
      // and its pending gauge is under its real version, so that row has no match.
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
      // The exact mean of 15 m, from three rows instead of hundreds of samples; only for subjects with a limit.
      text.record('subject:triton_requests_offered:mean15m', |||
        (
          (subject:triton_requests_offered:rate5m and on (%(subject)s) subject:tritonobs_qps_limit:held)
            + on (%(subject)s)
          subject:triton_requests_offered:rate5m offset %(span5m)s
            + on (%(subject)s)
          subject:triton_requests_offered:rate5m offset %(span10m)s
        ) / 3
      |||),
      // The rate between the last two scrapes, for bursts that longer windows average out. A server whose last scrape failed
      // adds nothing, because its latest samples are old; nor does one that failed the scrape before the last two, because
      // it may have hung, and its first page may be from before it worked off what had queued.
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
          (
            (up{%(triton)s} == 0)
            or
            (up{%(triton)s} offset %(twoScrapes)s == 0)
            or
            replica:triton_returned:info
          )
        )
      |||) + shards.sum,
      // This record and the next exist only for subjects with a limit.
      text.record('subject:triton_requests_offered:irate%(short)s', fit(|||
        (
          %(all)s
        )
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      |||, { all: subjects('model_version:triton_requests_offered:irate%(short)s') })),
      // The mean of the last medium window: an excess must show in it, too.
      text.record('subject:triton_requests_offered:mean%(medium)s', |||
        avg_over_time(subject:triton_requests_offered:rate%(short)s[%(medium)s])
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      ||| + still),
    ];
  { requests: requests, subjects: subjects }
