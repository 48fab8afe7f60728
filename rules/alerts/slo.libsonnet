// Alerts about error budgets, the same for every SLO.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local say = (import '../lib/phrases.libsonnet').say;
  local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel];
  local labels = ['model', 'version', 'slo'];
  local board = boards.link('slo', labels, 'slo:period_error_budget_remaining:ratio');
  // A sentence with the first value of a query about the alert's labels `names`; empty without a result.
  local asked(query, names, sentence) =
    '{{ with printf "' + query + '" ' + std.join(' ', ['(print $labels.' + name + ')' for name in names]) +
    ' | query }}' + sentence + '{{ end }}';
  local matching(names) = std.join(',', [name + '=%%q' for name in names]);
  local left = (import '../lib/phrases.libsonnet').budget.english;
  local left_zh = (import '../lib/phrases.libsonnet').budget.chinese;
  // The stage that uses most of the threshold, for an SLO with a threshold for the whole request.
  local of_model = cluster + ['model'];
  local of_slo = of_model + ['version', 'slo'];
  local slowest(sentence) = asked(
    'topk by (%(cluster)s) (1, model_version_stage:tritonobs_stage_latency_budget_used:ratio5m{' + matching(of_model) + '}) ' +
    'and on () subject_slo:tritonobs_latency_target_seconds:held{stage=\\"total\\",' + matching(of_slo) + '}',
    of_model + of_slo,
    sentence
  );
  local slowest_stage = '{{ . | first | label "stage" }}';
  local mean_share = '{{ . | first | value | humanizePercentage }}';
  local slowest_is = slowest(' Slowest stage: ' + slowest_stage + ', mean ' + mean_share + ' of the threshold.');
  local slowest_is_zh = slowest('最慢的阶段是 ' + slowest_stage + '，平均耗时占延迟阈值的 ' + mean_share + '。');
  // The most frequent reason, for an SLO about failed requests: of the model's own stages, else of Triton. A page is about the
  // version with nearly all bad requests of its model, so the reasons of the model are those of the version.
  local reasons(sentence) = asked(
    'topk by (%(cluster)s) (1, ' +
    'sum by (%(cluster)s, stage, reason) (model_version_stage_reason:tritonobs_stage_errors:rate5m{outcome=\\"\\",' + matching(of_model) + '}) > 0 ' +
    'or on () sum by (%(cluster)s, reason) (avg_over_time(model_version_reason:triton_requests_failed:rate%(short)s{reason!=\\"CANCELED\\",' + matching(of_model) + '}[%(span5m)s])) > 0) ' +
    'and on () slo:tritonobs_counted:info{stage=\\"\\",' + matching(of_slo) + '}',
    of_model + of_model + of_slo,
    sentence
  );
  local reason = '{{ . | first | label "reason" }}';
  local stage = '{{ with . | first | label "stage" }}';
  local fails_for = reasons(' Most frequent reason: ' + reason + stage + ', stage {{ . }}{{ end }}.');
  local fails_for_zh = reasons('最常见的失败原因是 ' + reason + stage + '，阶段 {{ . }}{{ end }}。');
  local waited = (import '../lib/phrases.libsonnet').waited(cluster).english;
  local waited_zh = (import '../lib/phrases.libsonnet').waited(cluster).chinese;
  local tiers = (import '../lib/burns.libsonnet').tiers(config);
  local reported = (import '../lib/burns.libsonnet').reported(config);
  // Those versions that have nearly all bad requests of their model; with `of`, only those of them that are in it.
  local fails(tier, of='') = fit(|||
    (
      %(bad)s
        >= on (%(model)s, slo) group_left ()
      %(burnVersionShare)s * %(all)s
    )
  |||, {
    bad: if of == '' then reported.bad_of(tier, '!=""')
    else '(' + reported.bad_of(tier, '!=""') + ' and on (%(subject)s, slo) ' + of + ')',
    all: reported.bad_of(tier, '=""'),
  });
  // One message for one incident: about the version that has nearly all bad requests of the long window, else about the
  // model. That share hardly changes while the windows run out, so the subject stays the same until the end. Any burning
  // version is reported where its model does not burn and did not lately; it waits one `interval` if the model has the same
  // SLO.
  local once(tier, burns, interval, memory) = fit(|||
    (
      (
        %(burns)s{version!=""}
          and on (%(subject)s, slo)
        %(failsNow)s
      )
      or
      (
        (
          %(burns)s{version=""}
          or
          (
            %(burns)s{version!=""}
              and
            (
              %(burns)s offset %(interval)s
              or
              %(burns)s unless on (%(model)s, slo) slo:objective:ratio{version=""}
            )
          )
            unless on (%(model)s, slo)
          present_over_time(%(burns)s{version=""}[%(memory)s])
        )
          unless on (%(model)s, slo)
        %(fails)s
      )
    )
  |||, {
    burns: burns,
    interval: interval,
    memory: memory,
    failsNow: fails(tier),
    fails: fails(tier, 'present_over_time(' + burns + '{version!=""}[' + memory + '])'),
  });
  // Restricts the computation to budgets that burn. Records of slower tiers hold only those anyway.
  local only(tier, burns) = if reported.kept(tier) then '' else burns;
  // A pipeline fails where its member does, and the alert is about the member. What is left of the pipeline's bad requests
  // must burn on its own. While members fail as well, the pipeline waits for one evaluation, because their alert may follow.
  local not_of_members(tier, burns, wait) = fit(|||

    unless on (%(subject)s, slo)
    %(explained)s
    unless on (%(subject)s, slo)
    (
      (
        (%(bad)s and on (%(subject)s, slo) %(burns)s)
          < on (%(model)s) group_left ()
        2 * %(failing)s
      )
        unless on (%(subject)s, slo)
      (%(burns)s offset %(wait)s)
    )
  |||, {
    explained: reported.explained(tier, reported.of_members(tier), '%(model)s', only=only(tier, burns)),
    failing: reported.members(reported.bad_of(tier) + ' and on (%(model)s) pipeline_stage_model:tritonobs_pipeline_calls:held'),
    burns: burns,
    bad: reported.bad_of(tier),
    wait: wait,
  });
  // A failed request is bad for a latency SLO, too. What an alert about availability has reported (`what`) is subtracted
  // there.
  local not_of_failures(tier, burns, what) = fit(|||

    unless on (%(subject)s, slo)
    (
      %(explained)s
        and on (%(subject)s, slo)
      slo:tritonobs_counted:info{stage!=""}
    )
  |||, { explained: reported.explained(tier, what, '%(subject)s', only=only(tier, burns)) });
  // A page adds nothing while a faster page about the same SLO fires, or did within the short window.
  local unless_paged(tier) = std.join('', [
    fit('\nunless on (%(model)s, slo)\npresent_over_time(%(faster)s[%(short_window)s])', {
      faster: faster.named('ratio'),
      short_window: text.span(tier.short),
    })
    for faster in tier.faster
    if tier.severity == 'critical' && faster.severity == 'critical'
  ]);
  local burn(tier) =
    local name = 'TritonErrorBudgetBurn' + std.asciiUpper(tier.name[0]) + tier.name[1:];
    local first = tier.name == tiers[0].name;
    text.alert(name, tier.severity, text.owned(fit(|||
      (
        %(once)s
      )
        * slo:error_budget:ratio%(unless_paged)s%(not_of_members)s%(not_of_failures)s
    |||, {
      once: once(
        tier,
        tier.named('ratio'),
        text.ago(if first then 'slo' else 'burn'),
        text.span(tier.memory)
      ),
      unless_paged: unless_paged(tier),
      not_of_members: not_of_members(tier, tier.named('ratio'), text.ago(if first then 'slo' else 'burn')),
      not_of_failures: not_of_failures(tier, tier.named('ratio'), reported.of_failures(tier)),
    })), {
      summary: 'A model burns its error budget too fast.',
      description: say.percent + ' of the requests of ' + say.model + ' were bad for {{ $labels.slo }} in the last ' +
                   tier.long + '. Still burning' + left + '.' + fails_for + slowest_is + waited + say.called_by + say.causes +
                   ' Find the reason or stage that causes it. If a rollout causes it, roll back.',
      summary_zh: say.model_zh + ' 的 SLO {{ $labels.slo }} 消耗错误预算过快。',
      description_zh: '最近 ' + tier.long + ' 内，' + say.model_zh + ' 有 ' + say.percent + ' 的请求未达到 {{ $labels.slo }}，且仍在继续' + left_zh +
                      '。' + fails_for_zh + slowest_is_zh + waited_zh + say.called_by_zh + say.causes_zh + '找出是哪个原因或阶段；若由发布引起，请回滚。',
      board: board,
    }, keep=std.get(tier, 'keep', ''), labels={ burn_tier: tier.name });
  local missing = text.alert('TritonSliMissing', 'warning', text.owned(|||
    (
      (
        slo:objective:ratio
          unless on (%(subject)s, slo)
        present_over_time(slo:sli_bad_requests:increase[%(span5m)s])
      ) * 0 + 1
      and on (%(subject)s)
      subject:triton_requests:rate5m
    )
    or
    (
      1 - sum_over_time(slo:sli_valid_requests:increase[%(span5m)s])
        /
      (
        sum_over_time(slo:sli_valid_requests:increase[%(span5m)s])
          + on (%(subject)s, slo) group_left ()
        (sum_over_time(slo:sli_unmeasured_requests:increase[%(span5m)s]) > 0)
      )
        > %(sloUnmeasuredRatio)s
    )
  |||), {
    summary: 'An SLO is not measured for some or all requests.',
    description: say.percent + ' of the requests to ' + say.model +
                 ' are not measured for its SLO {{ $labels.slo }}: workers do not time its stage, Triton does not trace it, or no histogram bucket ends at the threshold. Compare the fleet file with the buckets of tritonobs_stage_duration_seconds in each version.',
    summary_zh: say.model_zh + ' 有 ' + say.percent + ' 的请求没有按 SLO {{ $labels.slo }} 测量。',
    description_zh: say.model_zh + ' 有 ' + say.percent + ' 的请求没有按其 SLO {{ $labels.slo }} 测量：工作进程没有为该阶段计时，Triton 没有追踪它，或阈值不是它们的桶边界。请按版本对照集群文件与 tritonobs_stage_duration_seconds 的桶。',
    board: board,
  }, wait='10m');
  local spent = 'slo:period_error_budget_spent:ratio';
  local bad_of_period = 'slo:sli_bad_requests:sum' + config.sloPeriod;
  local spending = bad_of_period + ' and on (%(subject)s, slo) ' + spent;
  local period = { long: config.sloPeriod, factor: '1' };

  // One alert for one cause: a budget that members or failed requests have spent is reported for the members, or for
  // availability. Something must have burned while the budget was spent, so that an SLO is not reported merely because it
  // has reached its `age`.
  local exhausted =
    text.alert('TritonErrorBudgetExhausted', 'warning', text.owned(fit(|||
      (
        (
          %(spent)s{version!=""}
            and on (%(subject)s, slo)
          %(failsNow)s
        )
        or
        (
          %(spent)s
            unless on (%(subject)s, slo)
          (%(spent)s{version!=""} and on (%(model)s, slo) %(spent)s{version=""})
            unless on (%(model)s, slo)
          %(fails)s
        )
      )
      and on (%(subject)s, slo)
      last_over_time(slo:period_error_budget_spent:burn_rate[%(spanPeriod)s])
      unless on (%(subject)s, slo)
      %(of_members)s%(not_of_failures)s
    |||, {
      spent: spent,
      failsNow: fails(period),
      fails: fails(period, spent + '{version!=""}'),
      of_members: reported.explained(period, reported.members(spending), '%(model)s', only=spent),
      not_of_failures: not_of_failures(period, spent, reported.failures(spending)),
    })), {
      summary: 'A model has no error budget left.',
      description: 'More requests of ' + say.model +
                   ' were bad for {{ $labels.slo }} in the last %(sloPeriod)s than the objective allows' + left +
                   '. Stop risky changes of this model until the budget is positive again.',
      summary_zh: say.model_zh + ' 的 SLO {{ $labels.slo }} 已没有错误预算。',
      description_zh: '最近 %(sloPeriod)s 内，' + say.model_zh + ' 未达到 {{ $labels.slo }} 的请求超过目标所允许的数量' + left_zh + '。在预算转正之前，请暂停该模型的高风险变更。',
      board: board,
    }, wait='10m');
  {
    // In the groups of the records that they read.
    recent: [burn(tiers[0])],
    slow: [burn(tier) for tier in tiers[1:]],
    others: text.group('alerts.slo', config.slowInterval, [missing, exhausted]),
  }
