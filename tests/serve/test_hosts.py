"""Which names are this machine's."""

from __future__ import annotations

import pytest

from tritonobs.plan.build import build_plan
from tritonobs.serve.hosts import is_known, known_names
from tritonobs.spec.load import read_text

HERE = "10.1.2.3"
NAMES = frozenset({"serve", "obs.example.com"})
KNOWN = ["127.0.0.1:9900", "127.8.8.8", "localhost:9900", "LOCALHOST", "localhost.", "[::1]:9900", "[::1]"]
KNOWN += ["10.1.2.3:9900", "serve:9900", "Serve", "obs.example.com"]
STRANGE = [
    "",
    "evil.example",
    "evil.example:9900",
    "10.9.9.9",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
]
STRANGE += [
    "evil.example@127.0.0.1",
    "[::2]",
    "[",
    "a b",
    "obs.example.com.evil",
    "http://127.0.0.1",
    "\x00",
]


@pytest.mark.parametrize("host", KNOWN)
def test_a_known_host_is_let_in(host: str) -> None:
    """Loopback, the address that was asked, and what the fleet file says."""
    assert is_known(host, NAMES, HERE)


@pytest.mark.parametrize("host", STRANGE)
def test_another_is_not(host: str) -> None:
    """However much it looks like one of ours."""
    assert not is_known(host, NAMES, HERE)


def test_the_fleet_file_names_them(tmp_path) -> None:
    """The host of `addresses.serve`, and `addresses.serve_names`."""
    text = (
        'fleet: s\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {m: {}}\n'
        "addresses: {serve: 'http://Serve.prod:9900', serve_names: [obs.example.com]}\n"
    )
    spec = read_text(text, "fleet.yaml").spec
    assert known_names(build_plan(spec, tmp_path)) == {"serve.prod", "obs.example.com"}
