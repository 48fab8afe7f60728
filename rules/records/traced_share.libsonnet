// What traces stand for of what Triton counted, of each model on each server: a batch that is lost on its way leaves no
// counter anywhere. Compared is what should be in both: requests to models that only clients call, while the server said
// the same rate for 5 m and no receiver began again. A trace comes seconds after its request was counted, so what was
// counted is read two evaluations late, and what was traced is taken where it is more, now or as it was then.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local increase = import '../lib/increase.libsonnet';
  local traced = import '../lib/traced.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local where = '%(model)s, %(replica)s';
  local succeeded = 'nv_inference_request_success{%(triton)s}';
  // The receiver's page names servers `replica`.
  local named(expr) =
    if config.replicaLabel == 'replica' then expr
    else fit('label_replace(%(expr)s, "%(label)s", "$1", "replica", "(.+)")', { expr: expr, label: config.replicaLabel });
  local over(series, offset='') = 'sum_over_time(' + series + '[%(span1h)s]' + offset + ')';
  local counted = 'replica_model:triton_requests:increase';
  local seen = 'replica_model:tritonobs_requests_traced:increase';
  local due = 'replica_model:triton_requests_traceable:increase';
  local rate = 'tritonobs_trace_rate{%(traces)s}';
  local steady = 'replica_model:tritonobs_trace_rate:steady';
  local spans = 'tritonobs_trace_spans_total{%(traces)s}';
  // Nothing was traced where no row is.
  local known(offset='') = fit('(\n  %(now)s\n    or\n  %(due)s * 0\n)', { now: over(seen, offset), due: over(due) });
  {
    counted: [
      text.record(counted, text.given(counted, shards.grown, fit(
        'sum by (%(where)s) (\n  %(each)s\n)',
        { where: where, each: increase.each(increase.now(succeeded), increase.before(succeeded)) }
      ))) + shards.parts([
        text.part(counted, shards.grown, fit(
          'sum by (%(where)s) (\n  %(each)s\n)',
          { where: where, each: increase.each(increase.now(succeeded), increase.before(succeeded)) }
        )),
      ]),
      // Models on servers that were traced at one rate for 5 m, by receivers that went on.
      text.record(steady, fit(|||
        (
          max by (%(model)s, replica) (max_over_time(%(rate)s[%(span5m)s])) > 0
            ==
          min by (%(model)s, replica) (min_over_time(%(rate)s[%(span5m)s]))
            and
          max by (%(model)s, replica) (%(rate)s offset %(span5m)s)
        )
          unless on (%(cluster)s)
        (
          resets(%(spans)s[%(span5m)s]) > 0
          or
          (%(spans)s unless %(spans)s offset %(span5m)s)
        )
      |||, { rate: rate, spans: spans })),
      text.record(seen, fit(|||
        sum by (%(where)s) (
          %(answered)s
        )
          and on (%(where)s)
        %(steady)s
      |||, { where: where, answered: named('(\n' + traced.answered + '\n)'), steady: named(steady) })),
      text.record(due, fit(|||
        (
          %(counted)s offset %(sloFreshWindow)s
            + on (%(where)s)
          (
            sum by (%(where)s) (
              replica_model_version_reason:triton_requests_failed:increase{reason=~"BACKEND|"} offset %(sloFreshWindow)s
            )
            or
            %(counted)s offset %(sloFreshWindow)s * 0
          )
        )
          and on (%(where)s)
        %(steady)s
          and on (%(where)s)
        %(before)s
      |||, { where: where, counted: counted, steady: named(steady), before: named(steady + ' offset %(sloFreshWindow)s') })),
    ],
    compared: [
      text.record('replica_model:triton_requests_traceable:sum1h', over(due)),
      text.record('replica_model:tritonobs_requests_traced:ratio1h', fit(|||
        (
          %(known)s
            >=
          %(before)s
          or
          %(before)s
        )
          /
        (%(due)s > 0)
      |||, {
        known: known(),
        before: known(' offset %(sloFreshWindow)s'),
        due: over(due),
      })),
      text.record('replica_model:tritonobs_trace_rate:max1h', named(fit('max by (%(model)s, replica) (max_over_time(%(rate)s[%(span1h)s]))', { rate: rate }))),
    ],
  }
