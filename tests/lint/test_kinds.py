"""Everything that people keep expressions in, as they keep it: the same error is found in each."""

import json

import pytest
import yaml

from support.linting import alert, command, ids, panel

WRONG = "sum(nv_gpu_utilization) by (gpu_uuid) > 80"
RULES = yaml.safe_load(alert(WRONG)[0])
BOARD = json.loads(panel(WRONG)[0])


def _object(kind, spec, version="v1"):
    return yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": {"name": "triton"}, "spec": spec})


def _map(name, text):
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "data": {name: text}}, width=4000)


TEXTS = {
    "a rule file": ("triton.rules", yaml.safe_dump(RULES)),
    "a PrometheusRule": ("rule.yaml", _object("PrometheusRule", RULES, "monitoring.coreos.com/v1")),
    "a VMRule": ("rule.yaml", _object("VMRule", RULES, "operator.victoriametrics.com/v1beta1")),
    "rules of Google's managed Prometheus": ("rule.yaml", _object("ClusterRules", RULES)),
    "rules in values of a chart": (
        "values.yaml",
        yaml.safe_dump({"serverFiles": {"alerting_rules.yml": RULES}, "additionalPrometheusRulesMap": {}}),
    ),
    "rules in a ConfigMap": ("map.yaml", _map("triton.rules.yml", yaml.safe_dump(RULES))),
    "a list of objects": (
        "list.yaml",
        yaml.safe_dump({"kind": "List", "items": [{"kind": "PrometheusRule", "spec": RULES}]}),
    ),
    "a board": ("board.json", json.dumps(BOARD)),
    "a board of Grafana's API": ("board.json", json.dumps({"dashboard": BOARD, "meta": {"slug": "a"}})),
    "a board in a ConfigMap": ("map.yaml", _map("triton.json", json.dumps(BOARD, indent=2))),
    "a board of Grafana's operator": (
        "board.yaml",
        _object("GrafanaDashboard", {"json": json.dumps(BOARD, indent=1)}, "grafana.integreatly.org/v1beta1"),
    ),
    "a mixin": ("mixin.libsonnet", f"{{ prometheusAlerts+:: {json.dumps(RULES)} }}"),
    "plain PromQL": ("triton.promql", WRONG),
}


@pytest.mark.parametrize(("file", "text"), TEXTS.values(), ids=TEXTS)
def test_an_error_is_found_in_whatever_holds_it(tmp_path, monkeypatch, file, text):
    """A file in a folder, as in a repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / file).write_text(f"# triton\n{text}" if file.endswith("yaml") else text)

    code, stdout, _ = command("deploy")

    assert code == 1
    assert f"deploy/{file}:" in stdout
    assert "ratio-and-percent" in stdout


def test_files_of_a_chart_are_read_where_they_are_no_template(tmp_path, monkeypatch):
    """Boards in `files/` and rules without placeholders; a template with one is named."""
    monkeypatch.chdir(tmp_path)
    chart = tmp_path / "chart"
    for folder in ("files/dashboards", "templates"):
        (chart / folder).mkdir(parents=True)
    (chart / "files" / "dashboards" / "triton.json").write_text(json.dumps(BOARD))
    (chart / "templates" / "rules.yaml").write_text(yaml.safe_dump(RULES))
    templated = RULES["groups"][0]["rules"][0] | {"expr": "nv_gpu_utilization > {{ .Values.most }}"}
    (chart / "templates" / "more.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "g", "rules": [templated]}]})
    )

    stdout = command("chart")[1]

    assert sorted(line.split(":")[0] + line.split(":")[3] for line in stdout.splitlines()) == [
        "chart/files/dashboards/triton.json ratio-and-percent",
        "chart/templates/more.yaml template",
        "chart/templates/rules.yaml ratio-and-percent",
    ]


def test_routes_of_the_operators_object_are_read():
    """An AlertmanagerConfig names alerts as Alertmanager's file does."""
    matcher = {"name": "alertname", "value": "TritonGone", "matchType": "="}
    route = {"receiver": "a", "routes": [{"receiver": "b", "matchers": [matcher]}]}
    both = _object("AlertmanagerConfig", {"route": route}) + "---\n" + alert("nv_gpu_utilization > 0.8")[0]

    assert ids(both) == {"unknown-alert"}
    assert ids(both.replace("TritonGone", "TritonCase")) == set()


def test_code_in_markdown_is_read_on_request_only(tmp_path):
    """Queries and files, in a list, too, as far as they stand in one piece."""
    blocks = {"promql": WRONG, "yaml": yaml.safe_dump(RULES), "sh": "echo nv_gpu_utilization > 80"}
    page = "# Triton\n" + "".join(f"\n```{word}\n{text}\n```\n" for word, text in blocks.items())
    (tmp_path / "README.md").write_text(page)

    assert command(str(tmp_path))[0] == 0
    assert command("--markdown", str(tmp_path))[1].count("ratio-and-percent") == 2
