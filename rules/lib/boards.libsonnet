// Links with the alert's labels filled in: to a Grafana board, or to the record itself in Prometheus.
function(config) {
  // A label that the alert lacks is not chosen: an empty one would empty the board.
  local variable(name) = 'var-' + (if name == config.clusterLabel then 'cluster' else name) + '={{ with $labels.' + name + ' }}{{ . | urlquery }}{{ else }}$__all{{ end }}',
  local question(record, labels) =
    if labels == [] then record
    else
      std.join('', [
        '{{ printf ',
        '"' + record + '{' + std.join(',', [name + '=%q' for name in labels]) + '}"',
        std.join('', [' (print $labels.' + name + ')' for name in labels]),
        ' | urlquery }}',
      ]),

  // The board's uid without its prefix, the labels it takes as variables beside the cluster, the record that shows
  // the same.
  link(uid, names, record)::
    local cluster = if config.clusterLabel == '' then [] else [config.clusterLabel];
    local labels = cluster + names;
    local chosen(labels) = if labels == [] then '' else '?' + std.join('&', std.map(variable, labels));
    if config.grafanaUrl != '' then
      local board = config.grafanaUrl + '/d/tritonobs-' + uid + chosen(labels);
      // An alert about the whole fleet has no model; the boards about one would be empty.
      if std.member(labels, 'model') && std.member(['model', 'pipeline'], uid)
      then '{{ if $labels.model }}' + board + '{{ else }}' + config.grafanaUrl + '/d/tritonobs-fleet' + chosen(cluster) + '{{ end }}'
      else board
    else
      std.join('', [config.prometheusUrl, '/graph?g0.tab=0&g0.expr=', question(record, labels)]),
}
