"""Triton's HTTP API as typed answers; the bodies are those of a 24.10 server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.triton import EnsembleStep, RepositoryEntry, TritonClient
from tritonobs.errors import BadAnswer

if TYPE_CHECKING:
    from conftest import Wire


def test_the_index_tells_ready_from_the_rest(wire: Wire) -> None:
    """Never-loaded models have no version, unloaded ones keep theirs."""
    wire.says(
        "/v2/repository/index",
        [
            {"name": "a", "version": "1", "state": "READY"},
            {"name": "a", "version": "2", "state": "UNAVAILABLE", "reason": "unloaded"},
            {"name": "b"},
        ],
    )

    index = TritonClient(wire.url).repository_index()

    assert [entry.ready for entry in index] == [True, False, False]
    assert index[2] == RepositoryEntry(name="b", version="", state="UNAVAILABLE", reason="")
    assert wire.asked[0][0] == "POST"


def test_a_config_is_read_with_its_steps(wire: Wire) -> None:
    """What discover and triage need: graph, batching, parameters."""
    wire.says(
        "/v2/models/whole+part/config",
        {
            "name": "whole+part",
            "platform": "ensemble",
            "max_batch_size": 8,
            "dynamic_batching": {"max_queue_delay_microseconds": 1500},
            "ensemble_scheduling": {
                "step": [{"model_name": "a", "model_version": "-1"}, {"model_name": "b"}]
            },
            "parameters": {"calls": {"string_value": "a"}},
        },
    )

    found = TritonClient(wire.url).model_configs(["whole+part", "a part {that is} not found"])

    assert list(found) == ["whole+part"]
    config = found["whole+part"]
    assert config.steps == (EnsembleStep(model="a", version=-1), EnsembleStep(model="b", version=-1))
    assert (config.max_batch_size, config.max_queue_delay_seconds) == (8, 0.0015)
    assert config.parameters == {"calls": "a"}


def test_stats_count_what_went_well_and_what_failed(wire: Wire) -> None:
    """The time is of what went well alone: means divide it by the number of those."""
    inference = {
        "success": {"count": 3, "ns": 3_000_000_000},
        "fail": {"count": 1, "ns": 500_000_000},
        "queue": {"count": 3, "ns": 1_000_000_000},
    }
    stats = {"name": "a", "version": "1", "last_inference": 1500, "inference_stats": inference}
    wire.says("/v2/models/stats", {"model_stats": [stats]})

    (found,) = TritonClient(wire.url).stats()

    assert (found.name, found.version) == ("a", "1")
    assert (found.successes, found.failures, found.success_ns) == (3, 1, 3_000_000_000)


def test_load_and_unload_say_what_triton_refused(wire: Wire) -> None:
    """Without explicit model control the server refuses; its sentence is what the user sees."""
    wire.says("/v2/repository/models/a/load", {"error": "explicit model load is not allowed"}, status=400)

    with pytest.raises(BadAnswer, match="explicit model load is not allowed"):
        TritonClient(wire.url).load("a")


def test_ready_is_false_for_a_server_that_is_not(wire: Wire) -> None:
    """400 on the health endpoint means not ready, for the server and for one model."""
    wire.says("/v2/health/ready", "", status=400)
    wire.says("/v2/models/a/versions/2/ready", "")

    assert not TritonClient(wire.url).ready()
    assert TritonClient(wire.url).model_ready("a", "2")
    assert not TritonClient(wire.url).model_ready("a", "3")


def test_another_server_on_that_port_is_a_bad_answer(wire: Wire) -> None:
    """JSON of another shape never becomes a traceback."""
    wire.says("/v2", {"hello": "world"})

    with pytest.raises(BadAnswer, match="not as documented"):
        TritonClient(wire.url).server_version()


def test_half_a_character_in_a_name_is_asked_about(wire: Wire) -> None:
    """A server may name such a model; no bytes of UTF-8 are its name."""
    assert TritonClient(wire.url).model_configs(["m\ud800"]) == {}
