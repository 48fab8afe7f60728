// Tokens a second of language models against their limits. They stand in the group of the record they read.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local say = import '../lib/phrases.libsonnet';
  local labels = ['model', 'version', 'kind'];
  local rate = 'model_version_kind:tritonobs_tokens:rate%(medium)s';
  local once = import '../lib/once.libsonnet';
  local whole = 'sum by (%(model)s, kind) (' + rate + ')';
  local exceeds(share) = once(fit(|||
    (
      %(rate)s
      or
      %(whole)s
    )
      > on (%(subject)s, kind)
    %(share)s * subject_kind:tritonobs_tokens_per_second_limit:held
  |||, { share: share, rate: rate, whole: whole }), rate, whole, 'subject_kind:tritonobs_tokens_per_second_limit:held', ', kind');
  local words = say.model + ' handles ' + say.number + ' {{ $labels.kind }}/s, its limit is ' +
                say.look('subject_kind:tritonobs_tokens_per_second_limit:held', labels);
  [
    text.alert('TritonTokensAboveLimit', 'critical', text.owned(exceeds('1')), {
      summary: 'A model handles more tokens than its limit.',
      description: words + '. Find the callers with long prompts or answers and slow them down, or add capacity.',
      board: boards.link('model', ['model', 'version'], text.fill(rate)),
    }, wait='1m', keep=config.limitKeepFiring),
    text.alert('TritonTokensNearLimit', 'warning', text.owned(exceeds('%(limitWarningRatio)s')), {
      summary: 'A model is near its limit of tokens.',
      description: words + '. Ask its callers what they plan, and add capacity before it is needed.',
      board: boards.link('model', ['model', 'version'], text.fill(rate)),
    }, wait='2m', keep=config.limitKeepFiring),
  ]
