"""An identity model, measured in the way it is named after: five timers, items and an outcome a request."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import triton_python_backend_utils as pb_utils

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    Args = dict[str, str]

BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]
STAGES = ("total", "read", "decode", "infer", "encode")
BLOCK = bytes(1024)


class Way:
    """Blocks that are timed, and no metrics behind them."""

    of: str | int = "total"
    """What `whole`, the block around a request, is called with."""

    def __init__(self, _args: Args) -> None:
        self.nothing = nullcontext()

    def time(self, _stage: str) -> AbstractContextManager:
        """Time a stage."""
        return self.nothing

    whole = time

    def images(self, n: int) -> None:
        """Count what was worked on."""

    def ok(self) -> None:
        """Count a request that went well."""

    def finalize(self) -> None:
        """Let go of everything."""


class Tritonobs(Way):
    """`tritonobs.stage`: which of its record paths and sinks, the model's name says."""

    def __init__(self, args: Args) -> None:
        if args["model_name"] == "python":
            os.environ["TRITONOBS_PURE_PYTHON"] = "1"
        if args["model_name"] == "cells":
            parameters = json.loads(args["model_config"])["parameters"]
            sys.path.insert(0, parameters["package"]["string_value"])
        from tritonobs.stage import Stages  # noqa: PLC0415 (the other variants must not pay for it)

        self.stages = Stages(args, pb_utils)
        self.time = self.whole = self.stages.time
        self.finalize = self.stages.finalize

    def images(self, n: int) -> None:
        """Count what was worked on."""
        self.stages.items("infer", "images", n)

    def ok(self) -> None:
        """Count a request that went well."""
        self.stages.outcome("ok")


class Request(Tritonobs):
    """The same, `total` and the outcome by `stages.request`."""

    def __init__(self, args: Args) -> None:
        super().__init__(args)
        self.whole, self.of = self.stages.request, 1

    def ok(self) -> None:
        """Called by the block."""


class Direct(Way):
    """Triton's own metric calls in `execute`, as its documentation shows them."""

    def __init__(self, args: Args) -> None:
        family = pb_utils.MetricFamily
        name = f"direct_{args['model_name']}"
        labels = {"worker": args["model_instance_name"]}
        self.durations = family(name=f"{name}_seconds", description="d", kind=family.HISTOGRAM)
        self.stages = {
            stage: self.durations.Metric(labels={**labels, "stage": stage}, buckets=BOUNDS)
            for stage in STAGES
        }
        self.counters = family(name=f"{name}_total", description="d", kind=family.COUNTER)
        self.outcome = self.counters.Metric(labels={**labels, "of": "outcome"})
        self.items = self.counters.Metric(labels={**labels, "of": "images"})

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Time a stage."""
        started = time.perf_counter()
        yield
        self.stages[stage].observe(time.perf_counter() - started)

    whole = time

    def images(self, n: int) -> None:
        """Count what was worked on."""
        self.items.increment(n)

    def ok(self) -> None:
        """Count a request that went well."""
        self.outcome.increment(1)


class PrometheusClient(Way):
    """prometheus_client in the model's process, with the HTTP server that each process then needs."""

    def __init__(self, _args: Args) -> None:
        import prometheus_client  # noqa: PLC0415 (as above)

        self.server, _ = prometheus_client.start_http_server(0, addr="127.0.0.1")
        durations = prometheus_client.Histogram("seconds", "d", ["stage"], buckets=BOUNDS)
        self.stages = {stage: durations.labels(stage) for stage in STAGES}
        self.outcome = prometheus_client.Counter("requests", "d", ["outcome"]).labels("ok")
        self.items = prometheus_client.Counter("items", "d", ["kind"]).labels("images")

    def time(self, stage: str) -> AbstractContextManager:
        """Time a stage."""
        return self.stages[stage].time()

    whole = time

    def images(self, n: int) -> None:
        """Count what was worked on."""
        self.items.inc(n)

    def ok(self) -> None:
        """Count a request that went well."""
        self.outcome.inc()

    def finalize(self) -> None:
        """Let go of everything."""
        self.server.shutdown()


WAYS = {
    "blocks": Way,
    "cells": Tritonobs,
    "compiled": Tritonobs,
    "direct": Direct,
    "histogram": Tritonobs,
    "prometheus": PrometheusClient,
    "python": Tritonobs,
    "request": Request,
}


class TritonPythonModel:
    """What came in goes out; on the way it hashes as many KiB as the parameter `work` says."""

    def initialize(self, args: Args) -> None:
        """Choose the way by the model's name."""
        self.block = BLOCK * int(json.loads(args["model_config"])["parameters"]["work"]["string_value"])
        way = WAYS.get(args["model_name"])
        self.way = way(args) if way else None

    def execute(self, requests: list) -> list:
        """Answer each request with its own tensor."""
        return [self.bare(request) if self.way is None else self.timed(request) for request in requests]

    def bare(self, request: object) -> object:
        """No block, no call: what the others are compared with."""
        tensor = pb_utils.get_input_tensor_by_name(request, "IN")
        hashlib.sha256(self.block)
        output = pb_utils.Tensor("OUT", tensor.as_numpy())
        return pb_utils.InferenceResponse([output])

    def timed(self, request: object) -> object:
        """The same, instrumented."""
        way = self.way
        with way.whole(way.of):
            with way.time("read"):
                tensor = pb_utils.get_input_tensor_by_name(request, "IN")
            with way.time("infer"):
                hashlib.sha256(self.block)
            with way.time("decode"):
                output = pb_utils.Tensor("OUT", tensor.as_numpy())
            with way.time("encode"):
                response = pb_utils.InferenceResponse([output])
            way.images(1)
            way.ok()
        return response

    def finalize(self) -> None:
        """Let go of everything."""
        if self.way:
            self.way.finalize()
