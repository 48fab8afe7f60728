// Traced requests for the bounds that thresholds of whole requests name, since the evaluation before: how many there
// were, and how many ended within each bound. Both are of a sample, weighted by what it stands for.
local fit = import 'fit.libsonnet';
local increase = import 'increase.libsonnet';
local buckets = 'tritonobs_trace_duration_seconds_bucket{%(traces)s, phase="request"}';
local requests = 'tritonobs_trace_requests_total{%(traces)s}';
local answered = 'tritonobs_trace_requests_total{%(traces)s, outcome!="rejected"}';
local spans = 'tritonobs_trace_spans_total{%(traces)s}';
// Receivers whose page nobody has read before: what it holds is history.
local fresh = 'on (%(receiver)s) (' + increase.now(spans) + ' unless ' + increase.before(spans) + ')';
local bounds = |||
  and on (%(model)s, le)
  model_stage_le:tritonobs_latency_bound:info{stage="traces:request", le!="+Inf"}
|||;
local within(read) = '(' + read(buckets) + '\n' + bounds + ')';
local by_bound(aggregation, rows) = fit(|||
  %(aggregation)s by (%(subject)s, stage, le) (
    label_replace(
      label_replace(
        %(rows)s,
        "le", "$1", "le", "([0-9]+)[.]0+"
      ),
      "stage", "traces:request", "", ""
    )
  )
|||, { aggregation: aggregation, rows: rows });
{
  within: by_bound('sum', increase.each(within(increase.now), within(increase.before), fresh)),
  // Which bounds there are, and which models: a row of each.
  bounded: by_bound('group', within(increase.now)),
  // Of requests that Triton may count as done, by all that the receiver says of them.
  answered: increase.each(increase.now(answered), increase.before(answered), fresh),
  known: 'group by (%(subject)s) (' + increase.now(requests) + ')',
  all: fit(|||
    sum by (%(subject)s) (
      %(each)s
    )
  |||, { each: increase.each(increase.now(requests), increase.before(requests), fresh) }),
}
