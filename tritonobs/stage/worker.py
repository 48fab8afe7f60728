"""The worker behind the `Stages` of one model instance: its numbers, and its flusher."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from typing import TYPE_CHECKING, Final

from tritonobs.stage import series
from tritonobs.stage.cells import COMPILED, Cells, asked_for_python, record_path
from tritonobs.stage.flush import Flusher

if TYPE_CHECKING:
    from tritonobs.stage.settings import Settings

_GIVE_UP_SECONDS: Final = 5.0
_log = logging.getLogger("tritonobs.stage")


class Worker:
    """One model instance of this process; its series carry its `name`.

    `shared_worker` finds the one that a model instance has already: numbers of two would be added up.
    """

    def __init__(self, pb_utils: object, settings: Settings, max_label_sets: int) -> None:
        self.name = settings.identity["worker"]
        self.pb_utils = pb_utils
        self.settings = settings
        self.cells = Cells(settings.bounds_seconds, max_label_sets)
        self.cells.declare((series.REQUESTS, outcome) for outcome in series.OUTCOMES)
        self.cells.declare([series.TOTAL, (series.FLUSH_ERRORS,), (series.FLUSH_SECONDS,)])
        self._process = os.getpid()
        self.flusher = Flusher(
            pb_utils,
            settings.identity,
            self.cells,
            sink=settings.sink,
            interval_seconds=settings.flush_interval_seconds,
            scrape_seconds=settings.scrape_seconds,
        )
        # Only `initialize` is given a model instance; elsewhere, a metric call would hang Triton forever.
        if settings.model_instance:
            atexit.register(self.flusher.abandon)
            self.flusher.start()
        else:
            _log.warning("args name no model_instance_name: stage metrics are off outside of initialize")

    def serves(self, pb_utils: object, settings: Settings) -> bool:
        """Whether this is the worker of that model instance."""
        own = (self.settings.model, self.settings.version, self.settings.model_instance)
        return self.pb_utils is pb_utils and own == (
            settings.model,
            settings.version,
            settings.model_instance,
        )

    def finalize(self) -> None:
        """Hand over what is left, wait until it was scraped, release the series."""
        if os.getpid() != self._process:
            return  # a child of a fork has no flusher and no Triton to talk to
        # Before the wait for a scrape: stages that are made meanwhile must not share a worker that ends.
        with _lock:
            if self in _workers:
                _workers.remove(self)
        if self.flusher.stop(self.settings.scrape_seconds + _GIVE_UP_SECONDS):
            # Else every ended flusher stays in memory until the process ends.
            atexit.unregister(self.flusher.abandon)
        else:
            _log.warning("worker %s: Triton did not take the last metrics in time", self.name)


_workers: list[Worker] = []
_lock = threading.Lock()


def shared_worker(pb_utils: object, settings: Settings, max_label_sets: int) -> Worker:
    """The worker of a model instance, made if it has none that is not finalized."""
    with _lock:
        for worker in _workers:
            if settings.model_instance and worker.serves(pb_utils, settings):
                _log.warning(
                    "model %s has stages in this process already: the new ones share numbers, settings and "
                    "finalize with them; record each request and stage in one place",
                    settings.model,
                )
                return worker
        if not _workers:
            # It does not show from outside that requests are recorded in Python, at five times the cost.
            _log.log(
                logging.INFO if COMPILED or asked_for_python() else logging.WARNING,
                "record path: %s",
                record_path(),
            )
        worker = Worker(pb_utils, settings, max_label_sets)
        if settings.model_instance:
            _workers.append(worker)
        return worker


def workers_of(pb_utils: object) -> list[Worker]:
    """The workers that hand over to this Triton and are not finalized."""
    with _lock:
        return [worker for worker in _workers if worker.pb_utils is pb_utils]
