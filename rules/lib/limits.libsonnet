// Limits of requests: when one is exceeded, what chance explains, and which subject is reported.
local fit = import 'fit.libsonnet';

// `expr` without the versions whose limit is the same as that of their model (the record `limit_of_model`): a model with one
// version has one alert.
local of_limit =
  function(expr) fit(|||
    (
      %(expr)s
    )
    unless on (%(subject)s)
    model_version:tritonobs_limit_of_model:info
  |||, { expr: expr });

// The models that pipelines call. `rows` are about those pipelines, with the pipeline's name as `model`.
local called =
  function(rows) fit(|||
    group by (%(model)s) (
      pipeline_stage_model:tritonobs_pipeline_calls:held
        and on (%(pipeline)s)
      label_replace(group by (%(model)s) (%(rows)s), "pipeline", "$1", "model", "(.*)")
    )
  |||, { rows: rows });

// `expr` without the versions that have all the traffic of their model and no tighter limit: a model with one version has
// one alert. `version` and `model` are the rates of both, `limit` the record of limits, `by` further labels, `expr` a text
// block.
local once =
  function(expr, version, model, limit, by='') fit(|||
    (
      %(expr)s
    )
    unless on (%(subject)s%(by)s)
    (
      (
        %(version)s
          == on (%(model)s%(by)s) group_left ()
        %(whole)s
      )
      and on (%(subject)s%(by)s)
      (
        %(limit)s{version!=""}
          >= on (%(model)s%(by)s) group_left ()
        %(limit)s{model!="", version=""}
      )
    )
  |||, {
    expr: expr,
    version: version,
    whole: model,
    limit: limit,
    by: by,
  });

// Requests arrive at random. Where N are expected, N + z * sqrt(N) + z^2 / 5 are rarely exceeded by chance.
local chance =
  local most(limit, seconds, noise) = fit(
    '%(limit)s + (%(noise)s * sqrt(%(limit)s * %(seconds)s) + %(noise)s ^ 2 / 5) / %(seconds)s',
    { limit: limit, seconds: seconds, noise: noise }
  );
  {
    // The highest rate over `seconds` that chance explains at a limit, with z = `noise`.
    most:: most,
    // The rate between two scrapes was far above the limit, and higher than chance explains. `near` is `near_limit(config)`.
    burst(near):: fit(|||
      (
        label_replace(%(hot)s, "rate", "", "", "")
          > on (%(subject)s)
        %(spikeRatio)s * %(limit)s
      )
        > on (%(subject)s)
      %(most)s
    |||, { hot: near.rates.hot, limit: near.limit, most: most(near.limit, '%(scrapeSeconds)s', '%(limitNoise)s') }),
  };

// The rates that `exceeds` compares with limits, by the name of their row in the record `near_limit.rates`.
local offered = 'subject:triton_requests_offered:';
local rates =
  local minute = offered + 'mean%(medium)s';
  local five = offered + 'rate5m';
  local hot = offered + 'irate%(short)s';
  {
    short: offered + 'rate%(short)s',
    // Between two scrapes: now, in the two before, and in the time `bursts`.
    hot: hot,
    hot_before: hot + ' offset %(stepBefore)s',
    hot_earlier: hot + ' offset %(stepsBefore)s',
    hot_lasting: 'min_over_time(' + hot + '[%(bursts)s])',
    minute: minute,
    minute_before: minute + ' offset %(sustained)s',
    minute_mean: 'avg_over_time(' + minute + '[%(sustained)s])',
    minute_least: 'min_over_time(' + minute + '[%(sustained)s])',
    five_before: five + ' offset %(span4m)s',
    five_mean: 'avg_over_time(' + five + '[%(span4m)s])',
    five_least: 'min_over_time(' + five + '[%(span4m)s])',
    quarter: offered + 'mean15m',
    breath: offered + 'breath',
    breath5m: offered + 'breath5m',
    waits: 'subject:tritonobs_queue_waits:info',
  };

// Limits whose traffic is near, now, in the last minute or between the last two scrapes. Most traffic is far below its limit
// and cannot exceed it. So these limits are recorded, and what `exceeds` reads of their traffic beside them: few rows. Each of
// its windows requires one of these three rates above the warning share.
local near_limit =
  local held = 'subject:tritonobs_qps_limit:held';
  local near = 'subject:tritonobs_qps_limit:near';
  local record = offered + 'near_limit';
  // One selector of three rates: three comparisons would select the limits three times.
  local highest = '{__name__=~"' + std.join('|', [rates.short, rates.minute, rates.hot]) + '"}';
  function(config) {
    local text = (import 'text.libsonnet')(config),
    // Where a ruler writes late, all limits are compared, because a record would be an evaluation old.
    limit: if config.recordsAtOnce then near else held,
    rates: if !config.recordsAtOnce then rates else {
      [name]: record + '{rate="' + name + '"}'
      for name in std.objectFields(rates)
    },
    records: if !config.recordsAtOnce then [] else [
      text.record(near, fit('%(held)s < on (%(subject)s) max by (%(subject)s) (%(rates)s) / %(limitWarningRatio)s', {
        held: held,
        rates: highest,
      })),
      text.record(record, text.all([
        fit('label_replace(%(rate)s and on (%(subject)s) %(near)s, "rate", "%(name)s", "", "")', {
          rate: rates[name],
          near: near,
          name: name,
        })
        for name in std.objectFields(rates)
      ])),
    ],
  };

// Returns the subjects whose traffic exceeds a share of their limit in one of four windows: at once where it is far above,
// later the smaller the excess is. The value is the rate of the window.
//
// Two things explain an excess that needs no action. Requests arrive at random (`chance`). And the rate itself varies more
// than that: records/limits.libsonnet measures it over the last hours as `breath`, and the threshold is above what such
// traffic reaches near its limit. Where requests wait, the servers are full, and `breath` is ignored.
local exceeds =
  // The parameters of each window: its length (`seconds`), the standard deviations of chance (`noise`), the least multiple
  // of the limit (`floor`), the multiple of the chance threshold that caps `breath` (`ceiling`), and by how many times each
  // `breath` such traffic exceeds 85 % of the limit (`reach`). The short window is the quickest, and the only one that a
  // burst of seconds can fill. At a small limit two bursts look like chance, so it needs half a deviation more.
  local windows = {
    short: {
      seconds: '(%(shortSeconds)s - %(scrapeSeconds)s)',
      noise: '(%(limitNoise)s + 0.5)',
      floor: '%(limitAtOnceRatio)s',
      ceiling: '2',
      reach: { breath: 5.5, breath5m: 2 },
      waits: false,
    },
    sustained: {
      seconds: '(%(mediumSeconds)s + %(sustainedSeconds)s)',
      noise: '%(limitNoise)s',
      floor: '%(limitSoonRatio)s',
      ceiling: '1.75',
      reach: { breath: 1.6, breath5m: 3.3 },
      waits: true,
    },
    five: {
      seconds: '(%(seconds5m)s + %(seconds4m)s)',
      noise: '%(limitNoiseLong)s',
      floor: '%(limitLastingRatio)s',
      ceiling: '1.5',
      reach: { breath5m: 4 },
      waits: true,
    },
    quarter: {
      seconds: '%(seconds15m)s',
      noise: '%(limitNoiseLong)s',
      floor: '%(limitLongRatio)s',
      ceiling: '1.35',
      reach: { breath5m: 2.8 },
      waits: true,
    },
  };
  // `share` is the share of the limit, and `near` is `near_limit(config)`.
  function(share, near)
    local limit = (if share == '1' then '' else share + ' * ') + near.limit;
    local rate = near.rates;
    local threshold(window) =
      local of = windows[window];
      fit(|||
        max by (%(subject)s) (
          label_replace(%(most)s, "part", "chance", "", "")
          or
          label_replace(%(floor)s * %(limit)s %(waits)s, "part", "floor", "", "")
          or
          label_replace(
            (
              (%(reach)s < on (%(subject)s) %(ceiling)s * (%(most)s))
              or on (%(subject)s)
              (%(ceiling)s * (%(most)s) and on (%(subject)s) %(known)s)
            ) %(waits)s,
            "part", "breath", "", ""
          )
        )
      |||, {
        limit: limit,
        most: chance.most(limit, of.seconds, of.noise),
        floor: of.floor,
        ceiling: of.ceiling,
        waits: if of.waits then 'unless on (%(subject)s) ' + rate.waits else '',
        reach: '(' + std.join(' + on (%(subject)s) ', ['%(limitBase)s * ' + limit] + [
          '%(limitBreath)s * ' + '%.10g' % of.reach[name] + ' * ' + rate[name]
          for name in std.objectFields(of.reach)
        ]) + ')',
        known: std.join(' and on (%(subject)s) ', [rate[name] for name in std.objectFields(of.reach)]),
      });
    // The value, without the label of the row.
    local over(rate, window) = fit(|||
      (
        label_replace(%(rate)s, "rate", "", "", "")
          > on (%(subject)s)
        %(threshold)s
      )
    |||, { rate: rate, threshold: threshold(window) });
    local above(rate) = fit('(%(rate)s > on (%(subject)s) %(limit)s)\n', { rate: rate, limit: limit });
    local all(conditions) =
      fit('(\n  %(all)s\n)\n', { all: std.join('and on (%(subject)s)\n', conditions) });
    // Traffic with known bursts can have two in a row: it must exceed the limit for the time `bursts`.
    local bursting = fit(|||
      unless on (%(subject)s)
      (
        last_over_time(subject:tritonobs_limit_burst:timestamp_seconds[%(span3h)s] offset %(span10m)s)
          unless on (%(subject)s)
        (%(lasting)s > on (%(subject)s) %(limit)s)
      )
    |||, { lasting: rate.hot_lasting, limit: limit });
    of_limit(std.join('or\n', [
      // The short window, and each of the last three scrapes above the limit.
      all([
        over(rate.short, 'short'),
        above(rate.hot),
        above(rate.hot_before),
        above(rate.hot_earlier) + bursting,
      ]),
      // 150 s, by the lesser of their mean and their minimum. The minimum may be a fifth of the way closer to the limit.
      all([
        over(fit(|||
          (
            (%(mean)s < on (%(subject)s) %(least)s)
            or on (%(subject)s)
            %(least)s
          )
        |||, {
          mean: rate.minute_mean,
          least: '((%s - on (%%(subject)s) 0.2 * %s) / 0.8)' % [rate.minute_least, limit],
        }), 'sustained'),
        above(rate.minute_before),
        above(rate.short),
      ]),
      // Nine minutes: the mean of 5 m was above the limit for four minutes, and the last minute still is.
      all([
        over(rate.five_mean, 'five'),
        above(rate.five_least),
        above(rate.five_before),
        above(rate.minute),
      ]),
      all([over(rate.quarter, 'quarter'), above(rate.minute)]),
    ]));
{ of_limit: of_limit, called: called, once: once, chance: chance, near_limit: near_limit, exceeds: exceeds }
