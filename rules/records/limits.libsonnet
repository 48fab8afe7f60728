// Traffic beside its limits: how much it breathes, which queues are full, and what comes and goes.
local fit = import '../lib/fit.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);

  // How much traffic breathes: by how much it fell in the worst fifth of hours, from one moment to another some minutes
  // later, beyond what it fell or grew all the time. What it rises is not asked, so that an overload does not count as the
  // breath of the traffic it comes from; nor does a short outage, nor a morning. Three hours know what it does now, but hold
  // few of the waves that last for minutes; half a day holds enough. The larger of the two counts.
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
    // They are much to read, and change slowly: every other minute is enough, and hours of them are few samples.
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

  // Queues of subjects with a limit, and overflows that go on behind a full queue: what it refuses Triton counts nowhere, so
  // that traffic seems to be within its limit again.
  local overflows =
    local called = (import '../lib/limits.libsonnet').called;
    local chance = (import '../lib/limits.libsonnet').chance;
    local of_limit = (import '../lib/limits.libsonnet').of_limit;
    local pending = 'subject:triton_requests_pending:sum';
    local answered = 'subject:triton_requests:rate%(short)s';
    local seen = 'subject:tritonobs_limit_exceeded:timestamp_seconds';
    local burst = 'subject:tritonobs_limit_burst:timestamp_seconds';
    local drained = 'subject:tritonobs_queue_drained:timestamp_seconds';
    local again = (import '../lib/again.libsonnet').returning(config).limit;
    local within(series) = 'max_over_time(' + series + '[%(span1d)s])';
    local longer(what) = fit(|||
      (
        %(what)s
          > on (%(subject)s)
        %(queueSeconds)s * %(answered)s
      ) >= 2
    |||, { what: what, answered: answered });
    // Requests wait for longer than they should, and hardly fewer than before: a queue that drains is no overload.
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
    // It happened, and the queue was full at every moment since.
    local since(event) = fit(|||
      (
        %(event)s
          unless on (%(subject)s)
        (%(drained)s >= on (%(subject)s) %(event)s)
      )
    |||, { event: within(event), drained: within(drained) });
    [
      // Of five minutes, of subjects with a limit: what looks back for long reads this.
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
      text.record('subject:tritonobs_queue_waits:info', longer('min_over_time(' + pending + '[%(sustained)s])')),
      // When there was a burst last that may have filled the queue within seconds, and an overflow.
      text.record(burst, fit('timestamp(\n  %(burst)s\n)\n', { burst: chance.burst() })),
      text.record(seen, 'timestamp(subject:tritonobs_limit_exceeded:rate)'),
      // When the queue was not full for the last time, of subjects for which that matters.
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
      |||, { pending: pending, seen: within(seen), burst: within(burst), full: full })),
      // After a burst it must stay full for two minutes, for a queue is there for bursts, while the servers do nearly what
      // the limit allows: then more comes than that. A small queue fills between two scrapes, without a burst to be seen: it
      // must stand for five minutes. (Callers that wait for their answers, so many at a time, look the same: so near the
      // limit they fill what the fleet can bear, too.)
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
            (%(lasting)s)
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
      |||, { overflow: since(seen), burst: since(burst), answered: answered, full: full, lasting: longer('min_over_time(' + pending + '[%(span5m)s])') }))),
      // Members of pipelines that get too many requests: what comes through a pipeline is said of the pipeline. The queues of
      // its members take a little longer.
      text.record('model:tritonobs_limit_passed_on:info', called(fit(
        'last_over_time(%(seen)s[%(span5m)s]) or on (%(subject)s) last_over_time(subject:tritonobs_limit_kept:info[%(span5m)s])',
        { seen: seen }
      ))),
      // Overflows that come and go. (What a pipeline passes on is none of its members'.)
      again.begins,
      text.record('subject:tritonobs_limit_again:info', fit(|||
        %(held)s
          unless on (%(model)s)
        last_over_time(model:tritonobs_limit_passed_on:info[%(span1h)s])
      |||, { held: again.held })),
    ];
  { breath: breath, overflows: overflows }
