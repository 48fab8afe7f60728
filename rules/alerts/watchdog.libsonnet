// Always firing: its absence at the other end is the alarm.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local boards = (import '../lib/boards.libsonnet')(config);
  text.group('watchdog', '1m', [
    text.alert('Watchdog', 'none', 'vector(1)', {
      summary: 'The alerting path works.',
      description: 'This alert always fires. When it stops arriving, Prometheus, Alertmanager or the way to you is broken.',
      board: boards.link('fleet', [], 'up'),
    }),
  ])
