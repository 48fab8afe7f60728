"""One running stack for all end-to-end tests: real servers on free ports, a stand-in for DingTalk."""

import pytest

from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.processes import Folders


@pytest.fixture(name="stack", scope="session")
def _stack(tmp_path_factory):
    folders = Folders(root=tmp_path_factory.mktemp("stack"))
    running = local.start(None, folders, lambda _: None, move_ports=True)
    yield running
    local.stop(running)
