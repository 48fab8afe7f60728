"""What a web page can make a browser on this machine send, and what it can make it read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import requests

from support.serve_rig import Rig

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

OURS, FOREIGN = "127.0.0.1", "evil.example:9900"
PAGES = ("/metrics", "/sd/triton", "/healthz", "/readyz", "/runbooks", "/")
POSTS = ("/alertmanager/dingtalk/oncall", "/alertmanager/webhook/pager")
SIMPLE = ("text/plain", "text/plain;charset=application/json", "application/x-www-form-urlencoded", "")
"""What a page of another site may send without asking first."""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Serve on loopback, without credentials, as `tritonobs up` starts it."""
    with Rig(folder=tmp_path_factory.mktemp("browsers")) as rig:
        yield rig


def _body(rig: Rig) -> str:
    return json.dumps({"version": "4", "groupKey": "g", "alerts": [rig.alert("by-a-web-page")]})


@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("path", POSTS)
def test_what_needs_no_permission_delivers_nothing(rig: Rig, path: str, kind: str) -> None:
    """415, whatever the body says."""
    headers = {"Content-Type": kind, "Origin": "http://evil.example"}
    answer = requests.post(rig.serve.url + path, data=_body(rig), headers=headers, timeout=20)
    assert answer.status_code == 415
    assert rig.robot.attempts == []


@pytest.mark.parametrize("path", POSTS)
def test_what_needs_permission_does_not_get_it(rig: Rig, path: str) -> None:
    """The question before a JSON call from another site is not answered with a yes."""
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = requests.options(rig.serve.url + path, headers=headers, timeout=20)
    assert answer.status_code == 405
    assert [name for name in answer.headers if name.lower().startswith("access-control")] == []


@pytest.mark.parametrize("path", [*PAGES, *POSTS])
def test_a_foreign_name_for_this_machine_is_refused(rig: Rig, path: str) -> None:
    """DNS rebinding: the page's own name leads here, and would make us its site."""
    ask = requests.post if path in POSTS else requests.get
    headers = {"Host": FOREIGN, "Content-Type": "application/json"}
    answer = ask(rig.serve.url + path, data=_body(rig), headers=headers, timeout=20)
    assert answer.status_code == 421
    assert rig.robot.attempts == []


def test_a_name_of_the_fleet_file_is_taken_up_without_a_restart(rig: Rig) -> None:
    """And the generated configuration names serve by one that is known."""
    headers = {"Host": "obs.example.com"}
    assert requests.get(rig.serve.url + "/metrics", headers=headers, timeout=20).status_code == 421
    rig.fleet["addresses"]["serve_names"] = ["obs.example.com"]
    rig.write()
    assert rig.wait(
        lambda: requests.get(rig.serve.url + "/metrics", headers=headers, timeout=20).status_code == 200
    )


def test_alertmanager_is_served_as_ever(rig: Rig) -> None:
    """Its calls are JSON, with a charset or without."""
    kind = {"Content-Type": "application/json; charset=utf-8"}
    answer = requests.post(rig.serve.url + POSTS[0], data=_body(rig), headers=kind, timeout=60)
    assert answer.status_code == 200
    assert rig.named() == ["by-a-web-page"]
