"""An identity model, measured in the way it is named after: three stages and one outcome a request."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import triton_python_backend_utils as pb_utils

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    Args = dict[str, str]

BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]
STAGES = ("decode", "infer", "encode")


class Bare:
    """No metrics at all: what the others are compared with."""

    def __init__(self, _args: Args) -> None:
        self.nothing = nullcontext()

    def time(self, _stage: str) -> AbstractContextManager:
        """Time a stage."""
        return self.nothing

    def ok(self) -> None:
        """Count a request that went well."""

    def finalize(self) -> None:
        """Let go of everything."""


class _Clock:
    """Reads the clock at both ends of a block, and forgets."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.seconds = time.perf_counter()

    def __exit__(self, *_error: object) -> None:
        self.seconds = time.perf_counter() - self.seconds


class Clock(Bare):
    """Two clock readings a stage and no record: no timer written in Python can cost less."""

    def time(self, _stage: str) -> AbstractContextManager:
        """Time a stage."""
        return _Clock()


class Tritonobs:
    """`tritonobs.stage`; its sink comes from the model's parameters."""

    def __init__(self, args: Args) -> None:
        from tritonobs.stage import Stages  # noqa: PLC0415 (the other variants must not pay for it)

        self.stages = Stages(args, pb_utils)
        self.time = self.stages.time
        self.finalize = self.stages.finalize

    def ok(self) -> None:
        """Count a request that went well."""
        self.stages.outcome("ok")


class Direct:
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
        self.outcomes = family(name=f"{name}_total", description="d", kind=family.COUNTER)
        self.outcome = self.outcomes.Metric(labels=labels)

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Time a stage."""
        started = time.perf_counter()
        yield
        self.stages[stage].observe(time.perf_counter() - started)

    def ok(self) -> None:
        """Count a request that went well."""
        self.outcome.increment(1)

    def finalize(self) -> None:
        """Let go of everything."""


class PrometheusClient:
    """prometheus_client in the model's process, with the HTTP server that each process then needs."""

    def __init__(self, _args: Args) -> None:
        import prometheus_client  # noqa: PLC0415 (as above)

        self.server, _ = prometheus_client.start_http_server(0, addr="127.0.0.1")
        durations = prometheus_client.Histogram("seconds", "d", ["stage"], buckets=BOUNDS)
        self.stages = {stage: durations.labels(stage) for stage in STAGES}
        self.outcome = prometheus_client.Counter("requests", "d", ["outcome"]).labels("ok")

    def time(self, stage: str) -> AbstractContextManager:
        """Time a stage."""
        return self.stages[stage].time()

    def ok(self) -> None:
        """Count a request that went well."""
        self.outcome.inc()

    def finalize(self) -> None:
        """Let go of everything."""
        self.server.shutdown()


WAYS = {
    "bare": Bare,
    "clock": Clock,
    "counters": Tritonobs,
    "histogram": Tritonobs,
    "direct": Direct,
    "prometheus": PrometheusClient,
}


class TritonPythonModel:
    """What came in goes out."""

    def initialize(self, args: Args) -> None:
        """Choose the way by the model's name."""
        self.way = WAYS[args["model_name"]](args)

    def execute(self, requests: list) -> list:
        """Answer each request with its own tensor."""
        responses = []
        for request in requests:
            with self.way.time("decode"):
                tensor = pb_utils.get_input_tensor_by_name(request, "IN")
            with self.way.time("infer"):
                output = pb_utils.Tensor("OUT", tensor.as_numpy())
            with self.way.time("encode"):
                responses.append(pb_utils.InferenceResponse([output]))
            self.way.ok()
        return responses

    def finalize(self) -> None:
        """Let go of everything."""
        self.way.finalize()
