"""A real tritonserver with models that do to their stages what a request says, and clients that count."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.closed_loop import ClosedLoop
from tritonobs import programs
from tritonobs.clients.exposition import read_page
from tritonobs.clients.triton import TritonClient
from tritonobs.errors import ClientError
from tritonobs.extensions.lab.stack import native, processes
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.processes import Folders, Service
from tritonobs.programs import LOOPBACK, free_ports

DRIVEN = Path(__file__).parent / "driven" / "model.py"
SCRAPE_SECONDS = 0.5
CONFIG = """
backend: "python"
max_batch_size: 8
input [ {{ name: "IN" data_type: TYPE_STRING dims: [ 1 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_STRING dims: [ 1 ] }} ]
instance_group [ {{ kind: KIND_CPU count: {instances} }} ]
dynamic_batching {{ }}
parameters {{ key: "metrics_sink" value {{ string_value: "{sink}" }} }}
parameters {{ key: "latency_buckets" value {{ string_value: "{bounds}" }} }}
{more}
"""


class Scraper:
    """Reads a server's page as Prometheus would and remembers the last value of every series it ever saw."""

    def __init__(self, read, every_seconds):
        self._read = read
        self._every_seconds = every_seconds
        self._last = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join()

    def total(self, name, **labels):
        """The sum over all series of a name with these labels, those that are gone included."""
        found = [(key, value) for key, value in self._last.items() if key[0] == name]
        return sum(value for (_, own), value in found if labels.items() <= dict(own).items())

    def _loop(self):
        while not self._stopping.wait(self._every_seconds):
            for sample in self._read().samples:
                self._last[sample.name, tuple(sorted(sample.labels.items()))] = sample.value


class Driver:
    """Talks to one server: commands, reloads, and readings of its metrics page."""

    def __init__(self, server, repository):
        self.server = server
        self._repository = repository
        self.api = TritonClient(server.http_url, timeout_seconds=60)

    def send(self, model, command, times=1):
        """Run a command, one request each time, each of which must succeed."""
        clients = self.clients(model, command)
        clients.send(times)
        assert clients.errors == Counter()

    def clients(self, model, command="work"):
        """Clients under full load while the block runs."""
        return ClosedLoop(self.server.http_url, model, tensor="IN", datatype="BYTES", row=[command])

    def scraper(self):
        """A Prometheus of the interval the server was told."""
        return Scraper(self.page, SCRAPE_SECONDS)

    def reload(self, model):
        """Load the model again in place; Triton does so only when its code has changed."""
        (self._repository / model / "1" / "model.py").touch()
        self.api.load(model)

    def fail_to_load(self, model, instances=""):
        """Load the model again; instances whose names end so fail in `initialize`, after they made stages."""
        mark = self._repository / model / "1" / "failing"
        mark.write_text(instances, encoding="utf-8")
        try:
            with pytest.raises(ClientError, match="no weights"):
                self.reload(model)
        finally:
            mark.unlink()

    def unload(self, model):
        """Unload and wait until it is gone."""
        self.api.unload(model)
        self.wait(lambda: all(entry.state == "UNAVAILABLE" for entry in self._entries(model)))

    def page(self):
        """The metrics page."""
        return read_page(self.server.metrics_url)

    def total(self, name, expected, **labels):
        """The total of a series, once it is as expected or a while has passed."""
        self.wait(lambda: self.page().total(name, **labels) == expected)
        return self.page().total(name, **labels)

    def workers(self, model):
        """The workers whose series are on the page."""
        samples = self.page().by_name.get("tritonobs_requests_total", ())
        return {sample.labels["worker"] for sample in samples if sample.labels["model"] == model}

    def wait(self, condition, seconds=10.0):
        """Wait until the condition holds, or give up; the assertion after it tells."""
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.05)

    def _entries(self, model):
        return [entry for entry in self.api.repository_index() if entry.name == model]


@pytest.fixture(scope="session")
def triton(tmp_path_factory):
    """A context manager: a server with the driven model under these names, each with its settings."""

    @contextmanager
    def start(models, *extra):
        repository = tmp_path_factory.mktemp("repository")
        for name, settings in models.items():
            (repository / name / "1").mkdir(parents=True)
            shutil.copy(DRIVEN, repository / name / "1" / "model.py")
            values = {"instances": 1, "sink": "counters", "bounds": "0.002, 0.25, 1", "more": "", **settings}
            (repository / name / "config.pbtxt").write_text(CONFIG.format(**values), encoding="utf-8")
        variables = {"TRITONOBS_SCRAPE_INTERVAL_SECONDS": str(SCRAPE_SECONDS)}
        root = tmp_path_factory.mktemp("triton")
        with lone_triton(repository, root, extra=extra, variables=variables) as server:
            driver = Driver(server, repository)
            yield driver
            driver.api.close()
            server.require_alive()

    return start


@pytest.fixture
def prometheus_page(tmp_path):
    """What a Prometheus without any work says about itself."""
    (port,) = free_ports(1)
    url = f"http://{LOOPBACK}:{port}"
    config = tmp_path / "prometheus.yml"
    config.write_text(
        f"scrape_configs: [{{job_name: p, static_configs: [{{targets: ['{LOOPBACK}:{port}']}}]}}]"
    )
    options = [
        f"--config.file={config}",
        f"--storage.tsdb.path={tmp_path}",
        f"--web.listen-address={LOOPBACK}:{port}",
    ]
    argv = (str(programs.find("prometheus")), *options)
    service = Service(name="prometheus", argv=argv, url=url, ready_url=f"{url}/-/ready", ports=(port,))
    parts = native.up([service], Folders(root=tmp_path / "run"), lambda _: None)
    yield read_page(f"{url}/metrics", prefixes=("prometheus_",))
    processes.stop(parts)


@pytest.fixture(scope="session")
def driver(triton):
    """The server most tests share."""
    models = {
        "driven": {"instances": 4},
        "histogram": {"sink": "histogram"},
        "forgetful": {},
        "mortal": {},
        "broken": {"instances": 2},
        "hostile": {},
        "wrong": {"sink": "gauge", "bounds": "0.5, 0.25"},
    }
    with triton(models) as started:
        yield started
