// Who scrapes a part of the servers, and is missing. A shard says that it evaluates; an agent has a page of its own.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local shards = import '../lib/shards.libsonnet';
  local boards = (import '../lib/boards.libsonnet')(config);
  local missing = shards.parts_of(config).missing;
  local by_tier = {
    all: if missing == '' then [] else [
      text.alert('TritonobsAgentMissing', 'critical', missing, {
        summary: 'An agent that scrapes Triton servers is missing.',
        description: 'Agent {{ $labels.%(shardLabel)s }}%(of_cluster)s does not answer: of the servers that it scrapes and their models nothing is known, and alerts about them hold still. Look whether that vmagent runs, and what its log says.',
        board: boards.link('hosts', [], 'up'),
      }, wait='1m'),
    ],
    shard: [
      text.record('cluster:tritonobs_shard:info', 'vector(1)') + shards.max,
    ],
    global: [
      text.alert('TritonobsShardMissing', 'critical', missing, {
        summary: 'The records of a shard are missing.',
        description: 'Prometheus shard {{ $labels.%(shardLabel)s }}%(of_cluster)s gives no records: of its servers and their models nothing is known, and alerts about them hold still. Look whether that Prometheus runs, whether it evaluates its rules, and whether the global one can ask it.',
        board: boards.link('delivery', [], 'shard:cluster:tritonobs_shard:info'),
      }, wait='1m'),
    ],
  };
  text.group('alerts.shards', config.evaluationInterval, by_tier[config.tier])
