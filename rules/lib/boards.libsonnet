// Links with the alert's labels filled in: to a Grafana board, or to the record itself in Prometheus.
function(config) {
  local variable(name) = 'var-' + name + '={{ $labels.' + name + ' | urlquery }}',
  local question(record, labels) =
    if labels == [] then record
    else
      std.join('', [
        '{{ printf ',
        '"' + record + '{' + std.join(',', [name + '=%q' for name in labels]) + '}"',
        std.join('', [' (print $labels.' + name + ')' for name in labels]),
        ' | urlquery }}',
      ]),

  // The board's uid without its prefix, the labels it takes as variables, the record that shows the same.
  link(uid, labels, record)::
    if config.grafanaUrl != '' then
      std.join('', [
        config.grafanaUrl,
        '/d/tritonobs-',
        uid,
        if labels == [] then '' else '?' + std.join('&', std.map(variable, labels)),
      ])
    else
      std.join('', [config.prometheusUrl, '/graph?g0.tab=0&g0.expr=', question(record, labels)]),
}
