// jsonnet -S rules/records.jsonnet > records.rules.yml
std.manifestYamlDoc((import 'mixin.libsonnet').prometheusRules, quote_keys=false)
