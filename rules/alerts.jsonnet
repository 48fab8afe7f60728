// jsonnet -S rules/alerts.jsonnet > alerts.rules.yml
std.manifestYamlDoc((import 'mixin.libsonnet').prometheusAlerts, quote_keys=false)
