// Alerts about language models.
local fit = import '../lib/fit.libsonnet';
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/phrases.libsonnet').boards(config);
  local say = (import '../lib/phrases.libsonnet').say;

  // The KV cache of language models. SLOs cover slow first and later tokens.
  local language =
    local on_language(record) = boards.link('language', ['model', 'version'], record);
    // The use of a full cache varies: an answer that ends, or is preempted, frees about a tenth of it.
    text.group('alerts.language', config.gaugeInterval, [
      text.alert('TritonKvCacheFull', 'warning', text.owned_version(|||
        (
          max_over_time(replica_model_version:tritonobs_kv_cache_used:ratio[%(span2m)s]) > %(kvCacheRatio)s
        )
        and on (%(subject)s, %(replica)s)
        (
          avg_over_time(replica_model_version:tritonobs_kv_cache_used:ratio[%(span2m)s]) > %(kvCacheMeanRatio)s
        )
        and on (%(subject)s, %(replica)s)
        (min_over_time(replica_model_version:tritonobs_llm_requests_waiting:sum[%(span2m)s]) >= 1)
      |||), {
        summary: 'The KV cache of a language model is full, and requests wait for space.',
        description: 'The KV cache of ' + say.model + ' on {{ $labels.%(replicaLabel)s }} repeatedly reaches ' + say.percent +
                     ', and requests are always waiting. Route long prompts elsewhere or shorten them, lower the number of concurrent requests, give the cache more memory, or add a replica.',
        summary_zh: say.model_zh + ' 的 KV 缓存已满，请求在等待空间。',
        description_zh: '{{ $labels.%(replicaLabel)s }} 上 ' + say.model_zh + ' 的 KV 缓存反复用到 ' + say.percent + '，且一直有请求在等待。把长提示分到别处或缩短，降低同时生成的数量，给缓存更多显存，或增加副本。',
        board: on_language('replica_model_version:tritonobs_kv_cache_used:ratio'),
      }, wait='1m', keep='2m'),
      text.alert('TritonPreemptions', 'warning', text.owned_version(|||
        (
          model_version:tritonobs_llm_preemptions:rate5m
            > on (%(subject)s)
          %(preemptedRatio)s * model_version:triton_requests:rate5m
        )
        or
        (model_version:tritonobs_llm_requests_paused:mean5m > 1)
      |||), {
        summary: 'A language model preempts requests.',
        description: say.model + ' preempts ' + say.number +
                     ' requests (per second in vLLM, currently paused in TensorRT-LLM): their KV cache was evicted, so their tokens are recomputed. Lower the number of concurrent requests (max_num_seqs), give the cache more memory, or add a replica.',
        summary_zh: say.model_zh + ' 正在抢占运行中的请求。',
        description_zh: say.model_zh + ' 抢占 ' + say.number + ' 个请求（vLLM 为每秒，TensorRT-LLM 为当前数）：它们的缓存被别的请求占用，已算出的部分要重算。降低同时处理的请求数（max_num_seqs），给缓存更多显存，或增加副本。',
        board: on_language('model_version:tritonobs_llm_preemptions:rate5m'),
      }, wait='5m', keep='5m'),
    ]);

  // Tokens a second above or near their limits, in the group of the record that they read.
  local tokens =
    local labels = ['model', 'version', 'kind'];
    local rate = 'model_version_kind:tritonobs_tokens:rate%(medium)s';
    local once = (import '../lib/limits.libsonnet').once;
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
    local words = say.model + ' handles ' + say.number + ' {{ $labels.kind }}/s; its limit is ' +
                  say.look('subject_kind:tritonobs_tokens_per_second_limit:held', labels);
    [
      text.alert('TritonTokensAboveLimit', 'critical', text.owned(exceeds('1')), {
        summary: 'A model exceeds its token limit.',
        description: words + '. Find the clients with long prompts or answers and throttle them, or add capacity.',
        summary_zh: say.model_zh + ' 处理的 token 超过限额。',
        description_zh: say.model_zh + ' 每秒处理 ' + say.number + ' 个 {{ $labels.kind }}，限额为 ' + say.look('subject_kind:tritonobs_tokens_per_second_limit:held', labels) + '。找出提示或回答很长的调用方并让其降速，或扩容后提高限额。',
        board: boards.link('model', ['model', 'version'], text.fill(rate)),
      }, wait='1m', keep=config.limitKeepFiring),
      text.alert('TritonTokensNearLimit', 'warning', text.owned(exceeds('%(limitWarningRatio)s')), {
        summary: 'A model is close to its token limit.',
        description: words + '. Check the expected traffic with its clients, and add capacity in advance.',
        summary_zh: say.model_zh + ' 处理的 token 接近限额。',
        description_zh: say.model_zh + ' 每秒处理 ' + say.number + ' 个 {{ $labels.kind }}，限额为 ' + say.look('subject_kind:tritonobs_tokens_per_second_limit:held', labels) + '。询问调用方的计划，提前扩容。',
        board: boards.link('model', ['model', 'version'], text.fill(rate)),
      }, wait='2m', keep=config.limitKeepFiring),
    ];
  { language: language, tokens: tokens }
