"""Links in messages that nobody outside can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = [
    pytest.param(
        """\
        addresses:
          serve: http://serve:9900
          prometheus: http://prometheus.monitoring.svc:9090
          alertmanager: http://10.0.0.7:9093
          public: {}
        models: {a: {}}
        """,
        [],
        id="every link is the address inside, which says nothing of a difference",
    ),
    pytest.param(
        """\
        addresses:
          serve: http://serve:9900
          prometheus: http://prometheus.monitoring.svc:9090
          alertmanager: http://10.0.0.7:9093
          grafana: http://127.0.0.1:3000
          public: {alertmanager: "https://obs.shop/alerts"}
        models: {a: {}}
        """,
        [
            (
                "WARNING fleet.yaml:8:3: addresses.public: has no prometheus: links in messages lead to "
                '"http://prometheus.monitoring.svc:9090" '
                "(a browser outside the containers' network may not know that host)"
            ),
            (
                "WARNING fleet.yaml:8:3: addresses.public: has no serve: "
                'links in messages lead to "http://serve:9900" '
                "(a browser outside the containers' network may not know that host)"
            ),
        ],
        id="links that only containers can follow",
    ),
    pytest.param(
        """\
        addresses:
          serve: http://10.0.0.7:9900
          prometheus: http://prometheus.shop.com:9090
          public: {alertmanager: "https://obs.shop/alerts"}
        models: {a: {}}
        """,
        [],
        id="links that a browser may follow",
    ),
]


@pytest.mark.parametrize(("text", "complaints"), CASES)
def test_a_link_only_containers_can_follow_is_warned_about(
    complaints_of: Callable[[str], list[str]], text: str, complaints: list[str]
) -> None:
    """Where the file knows that addresses inside differ from those for people."""
    assert complaints_of(text) == complaints
