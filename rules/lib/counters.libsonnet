// Increases of counters, and what is derived from them: requests of ensembles, engines, traces, and invalid requests.
local fit = import 'fit.libsonnet';

// Expressions for the increase of a counter since the previous evaluation: the last value now minus the last value then.
// Sums of these over any window equal what the counters showed, with any gap of scrapes in between. `rate` loses increases
// beside a gap, and extrapolates where a series begins.
local increase =
  {
    now(series):: 'last_over_time(' + series + '[%(sloInterval)s])',
    before(series):: 'last_over_time(' + series + '[%(gapWindow)s] offset %(sloInterval)s)',

    // The previous value of a record that has no row for counters at 0. A missing row at an evaluation at which the page was
    // read means 0: the server has started again.
    before_some(record):: fit(|||
      (
        %(record)s offset %(sloInterval)s
        or
        (
          %(before)s
            unless on (%(replica_only)s)
          target:triton_page_read:bool offset %(sloInterval)s
        )
      )
    |||, { record: record, before: $.before(record) }),

    // The increase of each series of `now`. After a counter reset, and for a new series, it is the whole value. A new series
    // of a page that was not read before has no increase, because its past is unknown; `fresh` selects those.
    each(now, before, fresh='on (%(replica_only)s) %(pagesNew)s'):: fit(|||
      (%(now)s - %(before)s >= 0)
      or
      (%(now)s unless %(fresh)s)
    |||, { now: now, before: before, fresh: fresh }),

    // The same for a series, which is read twice. A sample gets the time at which its page was asked, and comes when the page
    // was read. An evaluation between the two would take the older sample, and the next one would take the growth for old, so
    // both look at a moment at which everything has come.
    now_written(series):: 'last_over_time(' + series + '[%(sloInterval)s]%(written)s)',
    before_written(series):: 'last_over_time(' + series + '[%(gapWindow)s]%(writtenBefore)s)',
    written(series, fresh='on (%(replica_only)s) %(pagesNewWritten)s')::
      $.each($.now_written(series), $.before_written(series), fresh),

    // The increase summed by `by`, for series that never reset, as those of a worker (its name has a pid): less to read and
    // to match. Both windows begin at the same moment, so a series that has ended is in both or in neither. The sum is
    // negative only for a page that was not read before, whose past is not charged. `rows` restricts the series.
    summed(by, series, rows=''):: fit(|||
      clamp_min(
        sum by (%(by)s) (
          (
            sum by (%(by)s) (last_over_time(%(series)s[%(gapHeldWindow)s]%(written)s)%(rows)s)
              unless on (%(replica_only)s)
            %(pagesNewWritten)s
          )
          or
          label_replace(
            -sum by (%(by)s) (last_over_time(%(series)s[%(gapWindow)s]%(writtenBefore)s)%(rows)s),
            "before", "1", "", ""
          )
        ),
        0
      )
    |||, { by: by, series: series, rows: rows }),
  };

// The ratio of two rates over 5 m; no row where the denominator is 0.
local mean =
  function(rate, each) fit(|||
    avg_over_time(%(rate)s[%(span5m)s])
      /
    (avg_over_time(%(each)s[%(span5m)s]) > 0)
  |||, { rate: rate, each: each });

// Sums rows of buckets. Prometheus 3 writes the bound 1 as 1.0, other versions as 1; both become 1, or a threshold would not
// find its bucket. The label `written` keeps both rows apart until the sum, because a vector must not have duplicates.
local bounds =
  function(by, rows) fit(|||
    sum by (%(by)s) (
      label_replace(
        label_replace(
          (
            %(rows)s
          ),
          "written", "$1", "le", "([0-9]+[.]0+)"
        ),
        "le", "$1", "le", "([0-9]+)[.]0+"
      )
    )
  |||, { by: by, rows: rows });

// Failed requests by version and reason, each counted once and under the version that has the model's successes. Triton
// counts a failed ensemble request twice as OTHER, once under version 1 and once under the real version, and its successes
// under version 1.
//
// `failures` returns failures for a matcher of reasons, `models` has a row for each model, and `by` are further labels to
// keep. Each failure counter is read once: with four reasons a server, there are more of them than of other counters.
local ensembles =
  function(failures, models, by='')
    local counted(reasons, times) = fit(|||
      %(failures)s
        * on (%(model)s) group_left (kind)
      (
        group by (%(model)s, kind) (subject:tritonobs_model_info:held{kind="ensemble"})%(times)s
        or on (%(model)s)
        %(models)s
      )
    |||, { failures: failures(reasons), times: times, models: models });
    fit(|||
      sum by (%(subject)s, reason%(by)s) (
        label_replace(
          sum by (%(model)s, counted, reason%(by)s) (
            label_replace(
              label_replace(
                %(other)s
                or
                %(rest)s,
                "counted", "$1", "version", "(.*)"
              ),
              "counted", "1", "kind", "ensemble"
            )
          ),
          "version", "$1", "counted", "(.*)"
        )
      )
    |||, { other: counted('reason="OTHER"', ' / 2'), rest: counted('reason!="OTHER"', ''), by: by });

// Histograms that engines of language models export themselves, as stages of a request: no instrumentation needed. vLLM's
// backend has them since Triton 24.08 (the whole request since 24.09). `inter_token_latency` is what vLLM 0.11 calls the
// former `time_per_output_token`. TensorRT-LLM's backend exports no times. See docs/language-models.md.
local vendors =
  local engines = [
    { stage: 'first_token', series: 'vllm:time_to_first_token_seconds' },
    { stage: 'output_token', series: 'vllm:inter_token_latency_seconds' },
    { stage: 'output_token', series: 'vllm:time_per_output_token_seconds' },
    { stage: 'total', series: 'vllm:e2e_request_latency_seconds' },
  ];
  // Returns the rows of `own`, plus the engine's rows for model versions without such a stage. `of(series)` is the
  // expression for one histogram, `only` restricts the engine's rows, and `stages` lists the wanted stages (null: all). Of
  // two names of one stage the newer takes precedence.
  function(own, of, only='', stages=null)
    local trimmed(text) = if std.endsWith(text, '\n') then std.substr(text, 0, std.length(text) - 1) else text;
    local exported = std.join('\nor on (%(subject)s, stage)\n', [
      fit('label_replace(\n%(rows)s,\n"stage", "%(stage)s", "", ""\n)', {
        rows: trimmed(of(engine.series)),
        stage: engine.stage,
      })
      for engine in engines
      if stages == null || std.member(stages, engine.stage)
    ]);
    fit(|||
      %(own)s
      or on (%(subject)s, stage)
      (
        (
          %(exported)s
        )%(only)s
      )
    |||, { own: trimmed(own), exported: exported, only: only });

// Increases of traced requests: all of them, and those within each bound that a threshold on traces names. Both are
// weighted: a request sampled 1 in N counts N.
local traced =
  local buckets = 'tritonobs_trace_duration_seconds_bucket{%(traces)s, phase="request"}';
  local requests = 'tritonobs_trace_requests_total{%(traces)s}';
  local spans = 'tritonobs_trace_spans_total{%(traces)s}';
  // Receivers whose page was not read before: their counters are history.
  local fresh = 'on (%(receiver)s) (' + spans + '%(written)s unless ' + increase.before_written(spans) + ')';
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
    within: by_bound('sum', increase.each(within(increase.now_written), within(increase.before_written), fresh)),
    // A row for each model version, stage and bound.
    bounded: by_bound('group', within(increase.now)),
    known: 'group by (%(subject)s) (' + increase.now(requests) + ')',
    fresh: fresh,
    all: fit(|||
      sum by (%(subject)s) (
        %(each)s
      )
    |||, { each: increase.written(requests, fresh) }),
  };

// The SLOs and bucket bounds in force. A Prometheus that was away charges all increases of the gap at its first evaluation.
// Until objectives are scraped again it uses those of before, from a record that is written seldom, because every evaluation
// reads an hour of it. The smallest budget is of the same group as both records.
local counted =
  local as_before(info, kept) = fit(|||
    (
      %(info)s
      or
      (
        %(kept)s
          unless on (%(cluster)s)
        cluster:slo_error_budget:min
      )
    )
  |||, { info: info, kept: kept });
  local within(kept, only='') = fit('last_over_time(%(kept)s%(only)s[%(gapWindow)s])', { kept: kept, only: only });
  {
    slos: 'slo:tritonobs_counted:info',
    kept_slos: 'slo:tritonobs_counted:kept',
    bounds: 'model_stage_le:tritonobs_latency_bound:info',
    kept_bounds: 'model_stage_le:tritonobs_latency_bound:kept',

    // All SLOs, or those that a matcher selects. Where the threshold of one changed within the hour, the latest holds, or its
    // requests would count twice.
    now(only='')::
      local kept(selected='') = within(self.kept_slos, selected);
      local selected = if only == '' then '' else '{' + only + '}';
      as_before(self.slos + selected, fit('topk by (%(subject)s, slo) (1, %(kept)s) * 0 + 1%(chosen)s', {
        kept: kept(),
        chosen: if only == '' then '' else '\nand\n' + kept(selected),
      })),
    bounds_now:: as_before(self.bounds, within(self.kept_bounds)),
  };

// Requests that are the caller's fault, increases by model version: those that models called invalid, and those failures of
// a pipeline that it is not charged for (seen minus bad).
local invalid =
  local bad = 'model_version:triton_requests_bad:increase';
  fit(|||
    sum by (%(subject)s) (
      %(told)s
      or
      %(seen)s
      or
      (-%(bad)s and on (%(subject)s) (%(told)s or %(seen)s))
    )
  |||, {
    told: 'replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}',
    seen: 'replica_model_version_seen_by:triton_requests_bad:increase{part=""}',
    bad: bad,
  });

// Failures that Triton counted and the model did not report, in a model that also has invalid requests.
//
// Models flush every half scrape interval, so a sample of unreported requests is off in either direction; over time these
// errors cancel. A sample is charged at most its failures. What exceeds them is late or did not fail: it is kept for the next
// samples, which late reports make smaller. No more than the traffic of one interval is kept: where traffic begins, all of it
// may be late.
//
// A difference counts once the sum of ten minutes exceeds `lateSeconds` of traffic: first all of the ten minutes, then each
// sample, negative ones included, until for half an hour no sum did.
//
// `by` are the labels of the subject. `told` is a record of increases with a row each of unreported requests (`untold`) and
// all requests (`seen`), `failures` one of failures. `record` is the rule's own record: it holds `rows`, of which the next
// evaluation reads what would be charged (`untold`), what is kept (`late`), and where the sum exceeds `lateSeconds` (`much`).
local unexplained =
  function(by, told, failures, record)
    local missing = told + '{outcome="untold"}';
    local most = 'max_over_time(' + told + '{outcome="seen"}[%(span10m)s])';
    local late = '%(lateSeconds)s / %(sloSeconds)s * ' + most;
    local open = fit(|||
      sum by (%(by)s) (
        %(missing)s
        or
        (%(record)s{part="late"} and on (%(by)s) %(missing)s)
      )
    |||, { by: by, missing: missing, record: record });
    local failed = fit(|||
      sum by (%(by)s) (
        (%(failures)s and on (%(by)s) %(missing)s)
        or
        0 * %(missing)s
      )
    |||, { by: by, failures: failures, missing: missing });
    local words = {
      by: by,
      open: open,
      failed: failed,
      late: late,
      most: most,
      missing: missing,
      record: record,
      of_ten_minutes: told + '{outcome="untold"}[%(span10m)s]',
    };
    local now = fit(|||
      (
        %(open)s
          <= on (%(by)s)
        %(failed)s
          or on (%(by)s)
        %(failed)s
      )
    |||, words);
    local kept = fit(|||
      min by (%(by)s) (
        (
          %(open)s
            - on (%(by)s)
          %(failed)s
        )
        or
        (%(most)s and on (%(by)s) %(missing)s)
      ) > 0
    |||, words);
    local much = fit(|||
      (
        sum_over_time(%(of_ten_minutes)s)
          > on (%(by)s)
        %(late)s
      )
    |||, words);
    local row(part, rows) = fit('label_replace(\n  sum by (%(by)s) (%(rows)s),\n  "part", "%(part)s", "", ""\n)', {
      by: by,
      rows: rows,
      part: part,
    });
    {
      rows: std.join('\nor\n', [row('untold', now), row('late', kept), row('much', much)]),
      charged: fit(|||
        (
          (
            %(now)s
              and on (%(by)s)
            %(counts)s
          )
          or
          (
            sum by (%(by)s) (
              %(now)s
              or
              sum_over_time(%(record)s{part="untold"}[%(span10m)s])
            )
              and on (%(by)s)
            %(much)s
              unless on (%(by)s)
            %(counts)s
          )
        )
      |||, {
        by: by,
        record: record,
        now: now,
        much: much,
        counts: 'last_over_time(' + record + '{part="much"}[%(span30m)s])',
      }),
    };
{ increase: increase, mean: mean, bounds: bounds, ensembles: ensembles, vendors: vendors, traced: traced, counted: counted, invalid: invalid, unexplained: unexplained }
