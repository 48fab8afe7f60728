// Links with the alert's labels filled in: to a Grafana board, or to the record itself in Prometheus.
function(config) {
  local variable(name) = 'var-%(name)s={{ $labels.%(name)s | urlquery }}' % { name: name },
  local matcher(name) = '%s=%%q' % name,
  local value(name) = '$labels.%s' % name,

  link(uid, labels, record)::
    if config.grafanaUrl != '' then
      std.join('', [
        config.grafanaUrl,
        '/d/tritonobs-',
        uid,
        if labels == [] then '' else '?' + std.join('&', std.map(variable, labels)),
      ])
    else
      std.join('', [
        config.prometheusUrl,
        '/graph?g0.tab=0&g0.expr={{ printf ',
        std.escapeStringJson('%s{%s}' % [record, std.join(',', std.map(matcher, labels))]),
        std.join('', [' (print %s)' % value(name) for name in labels]),
        ' | urlquery }}',
      ]),
}
