"""Every query of every panel and variable, on the running stack: data, not "No data"."""

from __future__ import annotations

import time

import pytest

from support.programs import PrometheusProgram
from support.watched import without_data
from tritonobs import names, programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.picture.answers import options
from tritonobs.extensions.picture.board import read_board
from tritonobs.render.grafana import load_boards

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(660)]
# External labels are put on what leaves a Prometheus: only one that gathers several has them on its series.
GATHERED = {"cluster"}
# Cards and language models have stacks of their own.
LIVE = tuple(name for name in names.BOARDS if name not in {"accelerators", "language"})
# The stack has one replica and no Kubernetes, and its models report no bytes: the panels say so. Tests of
# rules and boards have them.
SAID = {
    "Replica compared with its peers, 5 min",
    "Input bytes, 1 min",
    "Ready replicas",
    "Desired replicas of autoscalers",
}


@pytest.mark.parametrize("name", LIVE)
def test_every_query_of_a_board_finds_data_under_load(busy, name):
    """No panel of a board is empty while there is traffic, errors and an alert."""
    replicas = '{__name__=~"replica_.+"}'
    busy.until(lambda: not busy.client.label_values("__name__", replicas, start=0, end=time.time()))
    board = busy.boards()[name]
    wanted = {"model": ["inspect"]} if name == "model" else {}

    def empty():
        return [one for one in without_data(busy.drawn(board, **wanted)) if one[0] not in SAID]

    assert busy.until(empty) == []


@pytest.mark.parametrize("name", LIVE)
def test_every_variable_of_a_board_has_something_to_choose(busy, name):
    """Every drop-down but the cluster's, which one Prometheus alone does not know."""
    story = busy.drawn(busy.boards()[name])
    times = story.times
    empty = [
        variable.name
        for variable in story.board.variables
        if variable.name not in GATHERED
        and not options(busy.client, variable, story.words, times.start, times.end)
    ]

    assert empty == []


def test_a_pipeline_board_opens_with_a_pipeline(busy):
    """The first model offered calls others."""
    board = read_board(busy.boards()["pipeline"])
    (variable,) = [one for one in board.variables if one.name == "model"]
    now = time.time()
    first = options(busy.client, variable, {"cluster": ".*"}, now - 60, now)[0]

    assert first in {"inspect", "inspect_ensemble"}


def test_marks_tell_what_happened(busy):
    """Workers started and alerts fired since the tests began; both are marked."""
    board = busy.boards()["fleet"]

    def missing():
        seen = {moment.mark.name for moment in busy.drawn(board, seconds=3600).moments}
        return {"Critical", "Changes"} - seen

    assert busy.until(missing) == set()


def test_the_cluster_is_a_choice_where_several_are_gathered(busy, tmp_path):
    """A Prometheus that gathers from others sees their external labels; the variable offers them."""
    job = {
        "job_name": "gathered",
        "scrape_interval": "1s",
        "honor_labels": True,
        "metrics_path": "/federate",
        "params": {"match[]": ['{__name__=~"model_version:.+"}']},
        "static_configs": [{"targets": [busy.client.address.removeprefix("http://")]}],
    }
    with PrometheusProgram(programs.find("prometheus"), {"scrape_configs": [job]}, tmp_path) as program:
        gathering = PrometheusClient(program.url)
        board = read_board(load_boards()["fleet"])
        (variable,) = [one for one in board.variables if one.name == "cluster"]

        def missing():
            now = time.time()
            return not options(gathering, variable, {}, now - 60, now)

        assert not busy.until(missing, 30)


def test_every_part_of_delivery_tells_what_it_costs(busy):
    """Memory and CPU of Prometheus, Alertmanager and `tritonobs serve` itself."""

    def missing():
        story = busy.drawn(busy.boards()["delivery"])
        jobs = {answer.panel.title: {line.name for line in answer.lines} for answer in story.answers}
        seen = jobs["Component memory"] & jobs["Component CPU"]
        return {"tritonobs", "prometheus", "alertmanager"} - seen

    assert not busy.until(missing, 60)
