// Traffic with a limit: how much it varies, which queues are full, and overflows that recur.
local fit = import '../lib/fit.libsonnet';
local shards = import '../lib/shards.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // How much traffic varies (`breath`): the median change between two moments (90 s and 10 m apart), minus the change that a
  // fifth of all changes fall below. It uses falls, not rises, so that an overload does not count as the variation of its
  // own traffic. A short outage is less than a fifth, and a steady rise in the morning moves the median, too. Three hours
  // show the present variation but hold few waves of some minutes; half a day holds enough. The larger of the two counts.
  local breath =
    local offered = 'subject:triton_requests_offered:';
    local names = {
      breath: { record: offered + 'rate%(short)s', apart: '%(breathApart)s' },
      breath5m: { record: offered + 'rate5m', apart: '%(span10m)s' },
    };
    local fall(step, window) = fit(|||
      (
        quantile_over_time(0.5, %(step)s[%(window)s])
          - on (%(subject)s)
        quantile_over_time(0.2, %(step)s[%(window)s])
      )
    |||, { step: step, window: window });
    // This reads many samples and changes slowly, so it is evaluated every 2 m, which also keeps the samples of twelve hours
    // few.
    std.flatMap(
      function(name) [
        text.record(offered + name + '_step', fit(|||
          (%(record)s - on (%(subject)s) %(record)s offset %(apart)s)
            and on (%(subject)s)
          subject:tritonobs_qps_limit:held
        |||, names[name])),
        text.record(offered + name, fit(|||
          (
            %(lately)s
              > on (%(subject)s)
            %(long)s
          )
          or
          %(long)s
        |||, { lately: fall(offered + name + '_step', '%(span3h)s'), long: fall(offered + name + '_step', '%(span12h)s') })),
      ],
      std.objectFields(names)
    );

  // Queues of subjects with a limit, and overflows that continue behind a full queue. Triton does not count what a full
  // queue rejects, so the traffic seems to be within its limit again.
  local overflows =
    local called = (import '../lib/limits.libsonnet').called;
    local chance = (import '../lib/limits.libsonnet').chance;
    local near = (import '../lib/limits.libsonnet').near_limit(config);
    local of_limit = (import '../lib/limits.libsonnet').of_limit;
    local pending = 'subject:triton_requests_pending:sum';
    local answered = 'subject:triton_requests:rate%(short)s';
    local seen = 'subject:tritonobs_limit_exceeded:timestamp_seconds';
    local burst = 'subject:tritonobs_limit_burst:timestamp_seconds';
    local drained = 'subject:tritonobs_queue_drained:timestamp_seconds';
    local again = (import '../lib/again.libsonnet').returning(config).limit;
    local within(series) = 'max_over_time(' + series + '[%(span1d)s])';
    local waits = 'subject:tritonobs_queue_waits:info';
    // Queues in which a request waits longer than `queueSeconds`, by Little's law, with at least two requests.
    local longer(what) = fit(|||
      (
        %(what)s
          > on (%(subject)s)
        %(queueSeconds)s * %(answered)s
      ) >= 2
    |||, { what: what, answered: answered });
    // The queue is long, and now or in the last minute hardly shorter than its highest value in ten minutes. A queue that
    // drains is not an overload.
    local now = 'avg_over_time(' + pending + '[%(medium)s])';
    local full = fit(|||
      (
        %(longer)s
      )
      and on (%(subject)s)
      (
        (%(pending)s >= on (%(subject)s) %(most)s)
        or
        (%(now)s >= on (%(subject)s) %(most)s)
      )
    |||, {
      longer: longer(now),
      now: now,
      pending: pending,
      most: '0.75 * max_over_time(' + pending + '[%(span10m)s])',
    });
    // Where a ruler writes late, the record would be an evaluation old.
    local is_full = if config.recordsAtOnce then 'subject:tritonobs_queue_full:info' else full;
    // The event happened within a day, and the queue was full at every evaluation since.
    local since(event) = fit(|||
      (
        %(event)s
          unless on (%(subject)s)
        (%(drained)s >= on (%(subject)s) %(event)s)
      )
    |||, { event: within(event), drained: within(drained) });
    [
      text.record('model_version:triton_requests_pending:sum', |||
        sum by (%(subject)s) (nv_inference_pending_request_count{%(triton)s})
      |||) + shards.sum,
      // The mean of 5 m for subjects with a limit; rules that look back for hours read this.
      text.record('subject:triton_requests_offered:mean5m', |||
        subject:triton_requests_offered:rate5m
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      |||),
      text.record(pending, |||
        (
          model_version:triton_requests_pending:sum
          or
          sum by (%(model)s) (model_version:triton_requests_pending:sum)
          or
          sum by (%(cluster)s) (model_version:triton_requests_pending:sum)
        )
          and on (%(subject)s)
        subject:tritonobs_qps_limit:held
      |||),
      text.record(waits, longer('min_over_time(' + pending + '[%(sustained)s])')),
    ] + (if config.recordsAtOnce then [text.record(is_full, full)] else []) + [
      // The time of the last burst, which may have filled the queue within seconds, and of the last overflow.
      text.record(burst, fit('timestamp(\n  %(burst)s\n)\n', { burst: chance.burst(near) })),
      text.record(seen, 'timestamp(subject:tritonobs_limit_exceeded:rate)'),
      // The last time the queue was not full, for subjects with a burst or an overflow within a day.
      text.record(drained, fit(|||
        timestamp(
          (
            %(pending)s
              and on (%(subject)s)
            (%(seen)s or %(burst)s)
          )
          unless on (%(subject)s)
          (
            %(full)s
          )
        )
      |||, { pending: pending, seen: within(seen), burst: within(burst), full: is_full })),
      // An overflow continues while the queue stays full. A queue is there to absorb bursts, so after a burst it must stay
      // full for two minutes while the servers complete nearly what the limit allows: then more arrives than that. A small
      // queue fills between two scrapes, without a visible burst, so requests must have waited in it for five minutes. Callers
      // with a fixed number of requests in flight look the same, but they too use all the capacity near the limit.
      text.record('subject:tritonobs_limit_kept:info', of_limit(fit(|||
        0 * (
          %(overflow)s
          or
          (
            (%(burst)s < time() - %(seconds2m)s)
            and on (%(subject)s)
            (%(answered)s > on (%(subject)s) %(limitWarningRatio)s * subject:tritonobs_qps_limit:held)
          )
          or
          (
            (count_over_time(%(waits)s[%(span4m)s]) >= 0.9 * %(seconds4m)s / %(evaluationSeconds)s)
            and on (%(subject)s)
            (
              min_over_time(%(answered)s[%(span5m)s])
                > on (%(subject)s)
              %(limitWarningRatio)s * subject:tritonobs_qps_limit:held
            )
          )
        ) + 1
        and on (%(subject)s)
        (
          %(full)s
        )
      |||, { overflow: since(seen), burst: since(burst), answered: answered, full: is_full, waits: waits }))),
      // Members of pipelines that exceed a limit: the alert is about the pipeline. It is remembered for 5 m, because
      // members' queues drain later.
      text.record('model:tritonobs_limit_passed_on:info', called(fit(
        'last_over_time(%(seen)s[%(span5m)s]) or on (%(subject)s) last_over_time(subject:tritonobs_limit_kept:info[%(span5m)s])',
        { seen: seen }
      ))),
      // Overflows that recur, without those of members whose pipeline exceeded its limit within the hour. An overflow of a
      // limit that was lower then is over.
      again.begins,
      text.record('subject:tritonobs_limit_again:info', fit(|||
        %(held)s
          > on (%(subject)s)
        subject:tritonobs_qps_limit:held
          unless on (%(model)s)
        last_over_time(model:tritonobs_limit_passed_on:info[%(span1h)s])
      |||, { held: again.held })),
    ];
  local of_model =
    [
      // Versions whose limit is the same as that of their model: they have all of its traffic and no tighter limit. A model
      // with one version then has one alert.
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
  { breath: breath, overflows: overflows, of_model: of_model }
