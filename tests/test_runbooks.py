"""Every alert has a runbook, and what the runbooks say to type exists."""

import re
import shlex
import subprocess
from decimal import Decimal
from pathlib import Path

import click
import pytest
import yaml

from support.fleet_sim.budget_lines import budget_lines, measured_alerts, with_budget
from support.fleet_sim.healthy import budget
from tritonobs import cli, names, programs
from tritonobs.render.rules import clock_knobs, evaluate_mixin, given_by_shards, mixin_knobs
from tritonobs.stage import series

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "runbooks"
PAGES = {
    page.stem: page.read_text(encoding="utf-8")
    for page in sorted(FOLDER.glob("*.md"))
    if page.stem != "README"
}
MEASURED = measured_alerts((ROOT / "bench" / "RESULTS.md").read_text(encoding="utf-8"))
HEADINGS = (
    ("##", ("Mitigation", "Diagnosis", "Impact", "Meaning", "中文")),
    ("###", ("处理", "诊断", "影响", "含义")),
)
KNOBS = mixin_knobs({}).keys()
ALWAYS_THERE = {"up", "ALERTS", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling"}
ALWAYS_THERE |= {"scrape_duration_seconds"}
OF_OTHERS = {
    "nv_cache_util",
    "prometheus_sd_discovered_targets",
    "nv_cache_num_evictions",
    "alertmanager_notifications_failed_total",
    "prometheus_notifications_alertmanagers_discovered",
    "prometheus_notifications_errors_total",
    "prometheus_rule_group_interval_seconds",
    "prometheus_rule_group_iterations_missed_total",
    "prometheus_rule_group_last_duration_seconds",
}
"""What neither our rules nor `names` mention: Triton's, Alertmanager's and Prometheus's own."""

_WORDS = {"and", "or", "unless", "offset", "bool"}
_NAME = re.compile(r"(?<![\w:.])[a-zA-Z_][\w:]*(?![\w:]*\s*\()")
_LISTS = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)")
_QUOTED = re.compile(r'"[^"]*"')
_INSIDE = re.compile(r"\{[^}]*\}|\[[^\]]*\]")


def metrics_of(expression):
    """The names of series in a PromQL expression."""
    bare = _LISTS.sub(" ", _INSIDE.sub(" ", _QUOTED.sub("", expression)))
    return {name for name in _NAME.findall(bare) if name not in _WORDS}


def queries(page):
    """The PromQL of a page, one expression a line."""
    return [
        line for block in re.findall(r"```promql\n(.*?)```", page, re.DOTALL) for line in block.splitlines()
    ]


def commands(page):
    """Every `tritonobs …` of a page, in prose or to be pasted."""
    pasted = re.findall(r"^\$ (tritonobs .*)$", page, re.MULTILINE)
    return [shlex.split(line)[1:] for line in [*pasted, *re.findall(r"`(tritonobs [^`]+)`", page)]]


def spoken(words):
    """The command that words name, and the words after its name."""
    command, context = cli.group, click.Context(cli.group)
    for place, word in enumerate(words):
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            return command, words[place:]
        command = found
    return command, []


@pytest.fixture(scope="module")
def mixin():
    """The rules for a scrape every 15 s."""
    return evaluate_mixin({})


@pytest.fixture(scope="module")
def alerts():
    """Alerts by name: the global tier has all of them but those of agents."""
    every = ({"tier": "global"}, {"agentsSelector": f'job="{names.AGENTS_JOB}"'})
    groups = [group for one in every for file in evaluate_mixin(one).values() for group in file["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


@pytest.fixture(scope="module")
def known(mixin, alerts):
    """Every name a runbook may use: it must exist whatever the scrape interval is."""
    slow = evaluate_mixin(clock_knobs(Decimal(60), Decimal(60)))
    records = [
        {rule["record"] for group in one["records"]["groups"] for rule in group["rules"] if "record" in rule}
        for one in (mixin, slow)
    ]
    read = {
        name
        for file in mixin.values()
        for group in file["groups"]
        for rule in group["rules"]
        for name in metrics_of(rule["expr"])
    }
    histograms = {f"{name}_{part}" for name in series.DISTRIBUTIONS for part in ("bucket", "sum", "count")}
    constants = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    plain = constants | set(series.FAMILIES) | histograms | {name for name in read if ":" not in name}
    vendors = {name for name in read if name.startswith("vllm:")}
    of_shards = {one.record for one in given_by_shards({})}
    return plain | vendors | of_shards | (records[0] & records[1]) | set(alerts) | ALWAYS_THERE | OF_OTHERS


def test_every_alert_has_its_page_and_every_page_its_alert(alerts):
    """No alert links to nothing; no page outlives its alert."""
    assert set(alerts) - set(PAGES) == set(), "write docs/runbooks/ALERT.md"
    assert set(PAGES) - set(alerts) == set(), "runbooks without an alert"


def test_every_alert_links_to_its_own_page(alerts):
    """`runbook_url` ends in the path of the page as `tritonobs serve` serves it."""
    wrong = [
        name
        for name, rule in alerts.items()
        if not rule["annotations"]["runbook_url"].endswith(f"/runbooks/{name}")
    ]

    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_page_answers_the_same_questions_in_both_languages(name):
    """Mitigation first, then diagnosis, impact and meaning, each with something below it."""
    for level, expected in HEADINGS:
        found = re.findall(rf"^{level} (.+)\n\n\S", PAGES[name], re.MULTILINE)
        wanted = [heading for heading in expected if heading != "中文"]
        assert [heading for heading in found if heading in wanted] == wanted
    assert PAGES[name].index("\n## Meaning\n") < PAGES[name].index("\n## 中文\n\n### 处理\n")
    assert "False positives: " in PAGES[name]
    assert "误报：" in PAGES[name]  # noqa: RUF001 (Chinese punctuation)


@pytest.mark.parametrize("name", PAGES)
def test_chinese_parts_have_chinese_punctuation(name):
    """No half-width comma, colon, semicolon or bracket in a Chinese sentence; code and links keep theirs."""
    chinese = PAGES[name].split("\n## 中文\n")[1]
    prose = re.sub(r"```.*?```|^\$ .*$|`[^`\n]*`|\]\([^)\s]*\)", "", chinese, flags=re.DOTALL | re.MULTILINE)

    assert re.findall(r".{0,9}(?:[()]|[\u4e00-\u9fff][,;:?!]).{0,9}", prose) == []


@pytest.mark.parametrize("name", PAGES)
def test_page_is_short_enough_to_read_at_night(name):
    """At most 60 lines a language, blank ones included."""
    english, chinese = PAGES[name].split("\n## 中文\n")

    assert max(english.count("\n"), chinese.count("\n")) <= 60


@pytest.mark.parametrize("name", [name for name in PAGES if name != "Watchdog"])
def test_page_tells_the_budget_of_false_positives(name, alerts):
    """Both languages say what the simulation allows; bench/false_pages.py --runbooks writes it.

    An alert without a number in bench/RESULTS.md is not measured, and the lines say that: a new one, and
    those of shards and agents, which the simulation does not have.
    """
    english, chinese = PAGES[name].split("\n## 中文\n")
    a_day = budget(alerts[name])
    measured = name in MEASURED

    for part, line in zip((english, chinese), budget_lines(a_day, measured=measured), strict=True):
        assert f"\n{line}\n" in f"{part}\n", "python bench/false_pages.py --runbooks writes it"
    assert with_budget(PAGES[name], a_day, measured=measured) == PAGES[name], (
        "the command would move the line"
    )


def test_an_alert_is_measured_once_the_simulation_has_a_number_for_it():
    """By its section of the results, not by others of them; the page of a new alert says that it is not."""
    results = (
        "| TritonOld | 0 |\n<!-- False pages -->\n| alert        | severity |\n| ------------ | -------- |\n"
        "| TritonFirst  | info     |\n| TritonSecond | warning  |\n<!-- /False pages -->\n| TritonNo | 1 |\n"
    )
    page = "False positives: none.\n\n误报：没有。\n"  # noqa: RUF001 (Chinese)

    assert measured_alerts(results) == {"TritonFirst", "TritonSecond"}
    assert with_budget(page, 1, measured=False) == (
        "False positives: none.\n\nFalse-positive budget: 1 per day over a healthy fleet (not measured).\n\n"
        "误报：没有。\n\n误报预算：健康的集群中每天 1 次（未测量）。\n"  # noqa: RUF001 (Chinese)
    )


@pytest.mark.parametrize("name", PAGES)
def test_page_names_the_severity_of_its_alert(name, alerts):
    """Title and severity are those of the rule."""
    title, _, facts = PAGES[name].splitlines()[:3]

    assert title == f"# {name}"
    assert facts.startswith(f"`{alerts[name]['labels']['severity']}` · ")


def test_index_lists_every_alert_with_its_severity(alerts):
    """The table of docs/runbooks/README.md is whole and says what the rules say."""
    rows = re.findall(
        r"^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \| \S",
        (FOLDER / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    wanted = [(name, name, rule["labels"]["severity"]) for name, rule in alerts.items()]
    assert {*wanted} - {*rows} == set(), "write a row in docs/runbooks/README.md"
    assert sorted(rows) == sorted(wanted), "rows of no alert, or two of one"


@pytest.mark.parametrize("name", PAGES)
def test_commands_of_a_page_exist_with_their_options(name):
    """Whoever pastes a command at night gets no usage message."""
    for words in commands(PAGES[name]):
        command, rest = spoken(words)
        options = {option for param in command.params for option in param.opts}

        assert not isinstance(command, click.Group) or rest == [], words
        assert {word for word in rest if word.startswith("-")} <= options, words


@pytest.mark.parametrize("name", PAGES)
def test_queries_of_a_page_use_names_that_exist(name, known):
    """Every series is Triton's, ours, or a record that exists at any scrape interval."""
    used = {metric for query in queries(PAGES[name]) for metric in metrics_of(query)}

    assert queries(PAGES[name]) != []
    assert used - known == set()


@pytest.mark.parametrize("name", PAGES)
def test_names_in_the_prose_of_a_page_exist(name, known, alerts):
    """Series, alerts and knobs in backticks or in the text are spelled as they are in the rules."""
    prose = re.sub(r"```.*?```", "", PAGES[name], flags=re.DOTALL)
    said = re.findall(r"`((?:tritonobs_|nv_|[a-z_]+:\w)[\w:]*)(\*?)", prose)
    unknown = [text for text, rest in said if not rest and text not in known]
    unknown += [text for text, rest in said if rest and not any(one.startswith(text) for one in known)]

    assert unknown == []
    assert [alert for alert in re.findall(r"\bTriton(?:obs)?[A-Z]\w+", prose) if alert not in alerts] == []
    assert [knob for knob in re.findall(r"`([a-z]+[A-Z]\w*)`", prose) if knob not in KNOBS] == []


def test_queries_are_promql(tmp_path):
    """Prometheus parses every query."""
    rules = [
        {"record": f"page:{name}:{place}", "expr": query}
        for name, page in PAGES.items()
        for place, query in enumerate(queries(page))
    ]
    file = tmp_path / "queries.rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "pages", "rules": rules}]}), encoding="utf-8")

    told = subprocess.run(
        [programs.find("promtool"), "check", "rules", file], capture_output=True, text=True, check=False
    )

    assert told.returncode == 0, told.stderr
