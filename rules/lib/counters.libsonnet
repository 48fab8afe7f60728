// What counters grew by, and what that means: requests of ensembles, engines, traces, and the caller's fault.
local fit = import 'fit.libsonnet';

// What counters grew by since the evaluation before, as they showed it: from the last value there was then to the last
// there is now. Sums of these over any window are exactly what the counters grew by, whatever scrapes were lost in
// between; `rate` loses what happens beside a gap, and extrapolates where a series begins.
local increase =
  {
    now(series):: 'last_over_time(' + series + '[%(sloInterval)s])',
    before(series):: 'last_over_time(' + series + '[%(gapWindow)s] offset %(sloInterval)s)',

    // The same of a record that has no row where a counter is 0. One without a row at an evaluation at which its page was
    // read was 0 then, whatever it was before: the server started again.
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

    // Of each series. One that is new grew from 0, unless Prometheus has just begun to read its page: then it is history.
    each(now, before, fresh='on (%(replica_only)s) %(pagesNew)s'):: fit(|||
      (%(now)s - %(before)s >= 0)
      or
      (%(now)s unless %(fresh)s)
    |||, { now: now, before: before, fresh: fresh }),

    // Summed, for series that are born and die and never begin again, as those of a worker: less to read and to match.
    // Both windows begin at the same moment: what has died is in both or in none. Less than before is only a page that
    // these rules have not seen before: its past is not charged, neither way.
    summed(by, series, rows=''):: fit(|||
      clamp_min(
        sum by (%(by)s) (
          (
            sum by (%(by)s) (last_over_time(%(series)s[%(gapHeldWindow)s])%(rows)s)
              unless on (%(replica_only)s)
            %(pagesNew)s
          )
          or
          label_replace(
            -sum by (%(by)s) (last_over_time(%(series)s[%(gapWindow)s] offset %(sloInterval)s)%(rows)s),
            "before", "1", "", ""
          )
        ),
        0
      )
    |||, { by: by, series: series, rows: rows }),
  };

// How much of one rate there is for each of another, over 5 m; nothing where there was none of the other.
local mean =
  function(rate, each) fit(|||
    avg_over_time(%(rate)s[%(span5m)s])
      /
    (avg_over_time(%(each)s[%(span5m)s]) > 0)
  |||, { rate: rate, each: each });

// Rows of buckets added up. Prometheus 3 writes a bound as 1.0 where others write 1: both become 1, or thresholds would not
// find their bucket. `written` keeps them apart until they are added up.
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

// Failures of requests, each counted once and under the version that its model's successes are counted under: a failed
// ensemble request counts twice as OTHER, once under version 1 and once under its own, and its successes under 1.
// `failures` gives those with a matcher of reasons, `models` is a row for each model there may be, `by` further labels
// to keep. All failures are read but once: with four reasons on each server there are more of them than of any other.
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

// What engines of language models export themselves, as stages of a request: no instrumentation needed. vLLM's backend
// has these since Triton 24.08 (the whole request since 24.09); `inter_token_latency` is the name of vLLM 0.11 for
// what was `time_per_output_token`. docs/language-models.md has the table. TensorRT-LLM's backend exports no times.
local vendors =
  local engines = [
    { stage: 'first_token', series: 'vllm:time_to_first_token_seconds' },
    { stage: 'output_token', series: 'vllm:inter_token_latency_seconds' },
    { stage: 'output_token', series: 'vllm:time_per_output_token_seconds' },
    { stage: 'total', series: 'vllm:e2e_request_latency_seconds' },
  ];
  // `own`, and for models without it what engines export, or only of these `stages`: `of(series)` of each under the name of its stage,
  // of those rows `only` the ones that are asked for. Of two names of the same thing the newer counts.
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

// Traced requests for the bounds that thresholds of whole requests name, since the evaluation before: how many there
// were, and how many ended within each bound. Both are of a sample, weighted by what it stands for.
local traced =
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
  };

// SLOs and bounds that count. A Prometheus that starts counts at once what came while it was away: for objectives as they
// were, until they are read again. How they were is recorded seldom, for an hour of it is read at every evaluation.
local counted =
  local as_before(info, kept, only) = fit(|||
    (
      %(info)s%(only)s
      or
      (
        last_over_time(%(kept)s%(only)s[%(gapWindow)s])
          unless on (%(cluster)s)
        %(info)s
      )
    )
  |||, { info: info, kept: kept, only: only });
  {
    slos: 'slo:tritonobs_counted:info',
    kept_slos: 'slo:tritonobs_counted:kept',
    bounds: 'model_stage_le:tritonobs_latency_bound:info',
    kept_bounds: 'model_stage_le:tritonobs_latency_bound:kept',

    // All of them, or those that a matcher chooses.
    now(only=''):: as_before(self.slos, self.kept_slos, if only == '' then '' else '{' + only + '}'),
    bounds_now:: as_before(self.bounds, self.kept_bounds, ''),
  };

// Requests that were the caller's fault, since the evaluation before, of versions: what models told, and what a pipeline
// is not charged of its failures.
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
    seen: 'replica_model_version_seen_by:triton_requests_bad:increase',
    bad: bad,
  });

// Requests that Triton saw failing and that no model told of, since the evaluation before, among many that were invalid.
// Models hand over every half scrape interval, so that each sample is off, either way, by what came since; over ten
// minutes such differences cancel. So what is missing counts once it is more than that can be: at first all of the ten
// minutes, then sample by sample, with those that are negative. `by` is whose, `missing` and `seen` are records of one
// interval; no more are missing than failed, `most` of a sample and `most_in_all` in the ten minutes. `ago` reads a
// record as it was an evaluation before.
local unexplained =
  function(by, missing, seen, most, most_in_all, ago) fit(|||
    (
      (
        (
          %(missing)s
            and on (%(by)s)
          (%(all)s <= on (%(by)s) %(most_in_all)s)
          or on (%(by)s)
          (%(most)s and on (%(by)s) %(missing)s)
        )
        and on (%(by)s)
        %(before)s
      )
      or
      (
        (
          (%(now)s <= on (%(by)s) %(most_in_all)s)
            or on (%(by)s)
          (%(most_in_all)s and on (%(by)s) %(now)s)
        )
        unless on (%(by)s)
        %(before)s
      )
    )
  |||, {
    local much(at='') = fit(|||
      (
        sum by (%(by)s) (sum_over_time(%(missing)s[%(span10m)s]%(at)s))
          > on (%(by)s)
        %(lateSeconds)s / %(sloSeconds)s
          * sum by (%(by)s) (max_over_time(%(seen)s[%(span10m)s]%(at)s))
      )
    |||, { by: by, missing: missing, seen: seen, at: at }),
    by: by,
    missing: 'sum by (' + by + ') (' + missing + ')',
    all: 'sum by (' + by + ') (sum_over_time(' + missing + '[%(span10m)s]))',
    now: much(),
    // An evaluation ago, or within the ten minutes before. (Subqueries look at round times, between evaluations.)
    before: fit(|||
      (
        %(ago)s
        or
        last_over_time(
          %(much)s[%(span10m)s:%(sloInterval)s] offset %(sloInterval)s
        )
      )
    |||, { ago: much(ago), much: std.rstripChars(much(), '\n') }),
    most: most,
    most_in_all: most_in_all,
  });
{ increase: increase, mean: mean, bounds: bounds, ensembles: ensembles, vendors: vendors, traced: traced, counted: counted, invalid: invalid, unexplained: unexplained }
