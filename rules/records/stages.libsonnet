// Stages: rates of their histograms over all workers, and what people read of them. The times of a language model to its
// first token and to each one after it are stages, too; they are no parts that add up to the whole request.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local fit = import '../lib/fit.libsonnet';
  local bounds = import '../lib/bounds.libsonnet';
  local mean_of = import '../lib/mean.libsonnet';
  local vendors = import '../lib/vendors.libsonnet';
  local rated(by, part, only='', stages=null) =
    local of(series, only='') = fit('sum by (%(by)s) (rate(%(series)s_%(part)s{%(triton)s' + only + '}[%(medium)s]))', {
      by: by,
      series: series,
      part: part,
    });
    local own = std.strReplace(of('tritonobs_stage_duration_seconds', only), 'by (' + by, 'by (' + by + ', stage');
    vendors(own, of, stages=stages);
  local buckets(only, stages, labels={}) =
    text.record(
      'model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s',
      bounds('%(subject)s, stage, le', rated('%(subject)s, le', 'bucket', only, stages)),
      labels
    ) + shards.sum;
  local rate(part) =
    text.record(
      'model_version_stage:tritonobs_stage_duration_seconds_' + part + ':rate%(medium)s',
      rated('%(subject)s', part)
    ) + shards.sum;
  local percentile(name, quantile) =
    text.record('model_version_stage:tritonobs_stage_duration_seconds:' + name + '_5m', fit(|||
      histogram_quantile(
        %(quantile)s,
        avg_over_time(model_version_stage_le:tritonobs_stage_duration_seconds_bucket:rate%(medium)s[%(span5m)s])
      ) >= 0
    |||, { quantile: quantile }));
  {
    // Most of all series, in two halves that are read at different times. The label is there already; it tells promtool
    // that no rule is there twice. The global tier reads both halves of shards at once, by the rule of the parts.
    whole: [buckets(', stage="total"', ['total'], { stage: 'total' }) + shards.kept],
    parts: [buckets(', stage!="total"', ['first_token', 'output_token'])],
    shown: [
      rate('sum'),
      rate('count'),
      percentile('p50', '0.5'),
      percentile('p95', '0.95'),
      percentile('p99', '0.99'),
      text.record('model_version_stage:tritonobs_stage_duration_seconds:mean5m', mean_of(
        'model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s',
        'model_version_stage:tritonobs_stage_duration_seconds_count:rate%(medium)s'
      )),
      text.record('model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m', |||
        avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage!~"total|first_token|output_token"}[%(span5m)s])
          / on (%(subject)s) group_left ()
        (avg_over_time(model_version_stage:tritonobs_stage_duration_seconds_sum:rate%(medium)s{stage="total"}[%(span5m)s]) > 0)
      |||),
      // Which stage eats the latency budget: its seconds per request of the model, as a share of the tightest threshold
      // for the whole request.
      text.record('model_version_stage:tritonobs_stage_latency_budget_used:ratio5m', |||
        model_version_stage:tritonobs_stage_duration_seconds_per_total:ratio5m
          * on (%(subject)s) group_left ()
        model_version_stage:tritonobs_stage_duration_seconds:mean5m{stage="total"}
          / on (%(subject)s) group_left ()
        min by (%(subject)s) (subject_slo:tritonobs_latency_target_seconds:held{stage="total"})
      |||),
    ],
  }
