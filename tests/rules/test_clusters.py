"""Nothing mixes two clusters: every aggregation, join, absence and query of a message keeps them apart."""

import re

import promql_parser
import pytest

from support.promql import GLOBAL, mixing, selectors
from tritonobs import names
from tritonobs.render.rules import evaluate_mixin

QUERY = re.compile(r'printf "((?:[^"\\]|\\.)*)"([^|}]*)\| query')


def everywhere(text):
    """The selectors of an expression that read all clusters at once."""
    for node in selectors(promql_parser.parse(text)):
        if names.CLUSTER not in {matcher.name for matcher in node.matchers.matchers}:
            yield node.prettify()


@pytest.fixture(scope="module")
def rules():
    """Every rule, by its name."""
    groups = [group for file in evaluate_mixin({}).values() for group in file["groups"]]
    return [(rule.get("record") or rule["alert"], rule) for group in groups for rule in group["rules"]]


@pytest.mark.parametrize(
    "expression",
    [
        "sum(a)",
        "sum by (model) (a)",
        "sum without (cluster) (a)",
        "topk(1, a)",
        "a and on (model) b",
        "a and on () b",
        "a / ignoring (cluster) b",
        "absent(a)",
        "a > scalar(b)",
        "rate(a[5m]) unless sum by (cluster) (rate(b[5m]) * on (model) group_left (k) c)",
    ],
)
def test_the_check_sees_what_mixes_clusters(expression):
    """What loses the cluster is found wherever it stands."""
    assert list(mixing(expression))


def test_no_rule_mixes_clusters(rules):
    """Every `by` and `on` has the cluster, no `without` drops it, nothing is absent globally."""
    found = {name: told for name, rule in rules if (told := list(mixing(rule["expr"])))}

    for name, parts in found.items():
        assert name in GLOBAL, f"{name} mixes clusters: keep `cluster` in every `by` and `on` of {parts}"


def test_every_query_of_a_message_asks_one_cluster(rules):
    """What an annotation looks up is of the alert's own cluster."""
    looked = 0
    for name, rule in rules:
        for text in rule.get("annotations", {}).values():
            assert text.count("| query") == len(QUERY.findall(text)), name
            for query, values in QUERY.findall(text):
                looked += 1
                asked = query.replace("%q", '"x"').replace('\\"', '"')
                assert list(everywhere(asked)) == [], name
                assert query.count("%q") == values.count("(print $labels."), name
    assert looked > 0


def test_every_link_of_an_alert_leads_to_its_cluster(rules):
    """Boards open with the alert's cluster chosen, if they take any variable at all."""
    groups = evaluate_mixin({"grafanaUrl": "https://grafana"})["alerts"]["groups"]
    links = [rule["annotations"]["dashboard_url"] for group in groups for rule in group["rules"]]

    assert [link for link in links if "var-cluster={{ with $labels.cluster }}" not in link] == []


def test_a_mixin_without_a_cluster_label_is_whole():
    """Who keeps one cluster in one Prometheus may leave the label out: nothing names it then."""
    for file in evaluate_mixin({"clusterLabel": ""}).values():
        for group in file["groups"]:
            for rule in group["rules"]:
                promql_parser.parse(rule["expr"])
                assert "cluster=" not in str(rule.get("annotations", "")), rule
