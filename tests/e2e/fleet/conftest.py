"""One bad night on real servers, lived through once for all tests of this folder."""

import pytest

from support.night import live
from support.real_fleet import Servers

CALM_SECONDS, GAP_SECONDS, LIFE_SECONDS = 135.0, 30.0, 60.0
"""Shorter than in bench/real_servers.py, but who has which model is recorded only every two minutes."""


@pytest.fixture(name="night", scope="session")
def _night(tmp_path_factory):
    with Servers(tmp_path_factory.mktemp("night")) as servers:
        yield live(servers, calm=CALM_SECONDS, gap=GAP_SECONDS, life=LIFE_SECONDS)
