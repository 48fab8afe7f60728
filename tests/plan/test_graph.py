"""What one request of a pipeline costs below it."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

from tritonobs.plan import graph

ONE = Decimal(1)


def test_calls_multiply_down_and_add_up_across() -> None:
    """A diamond with fan-out: two branches meet in one member."""
    edges = {
        "top": {"left": Decimal(2), "right": ONE},
        "left": {"leaf": Decimal(3)},
        "right": {"leaf": Decimal("0.5")},
        "leaf": {},
    }

    assert graph.calls_per_request(edges)["top"] == {
        "left": Decimal(2),
        "right": ONE,
        "leaf": Decimal("6.5"),
    }


def test_a_cycle_is_named_in_the_order_of_the_calls() -> None:
    """From caller to called, back to where it began."""
    cycle = graph.find_cycle({"a": {"b": ONE}, "b": {"c": ONE}, "c": {"a": ONE}, "d": {"a": ONE}})

    assert cycle[0] == cycle[-1]
    assert set(pairwise(cycle)) == {("a", "b"), ("b", "c"), ("c", "a")}


def test_a_chain_of_thousands_needs_no_recursion() -> None:
    """Depth costs memory, not Python's stack."""
    edges = {str(number): {str(number + 1): ONE} for number in range(3000)}

    assert graph.find_cycle(edges) == ()
    assert len(graph.connected(edges)) == 1


def test_models_without_calls_stand_alone() -> None:
    """A group is what calls connect, in either direction."""
    edges = {"p": {"a": ONE}, "q": {"a": ONE}, "a": {}, "alone": {}}

    assert {frozenset(group) for group in graph.connected(edges)} == {
        frozenset({"p", "q", "a"}),
        frozenset({"alone"}),
    }
