"""vLLM's series, on Triton's metrics port: names and bounds of its backend, and of vLLM where that has none.

One thread calls this: two that set the same metric of Triton's Python backend can end the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_FIRST = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_LATER = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_WHOLE = (1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
_LENGTH = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
_HISTOGRAMS = {
    "vllm:time_to_first_token_seconds": _FIRST,
    "vllm:time_per_output_token_seconds": _LATER,
    "vllm:e2e_request_latency_seconds": _WHOLE,
    "vllm:request_prompt_tokens": _LENGTH,
    "vllm:request_generation_tokens": _LENGTH,
}
_COUNTERS = (
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:num_preemptions_total",
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
)
_GAUGES = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")


class Meter:
    """The engine's events, as metrics of one model version; the strong references keep them alive."""

    def __init__(self, pb_utils: ModuleType, labels: dict[str, str]) -> None:
        kinds = pb_utils.MetricFamily
        self._families = {
            **{name: kinds(name=name, description=name, kind=kinds.HISTOGRAM) for name in _HISTOGRAMS},
            **{name: kinds(name=name, description=name, kind=kinds.COUNTER) for name in _COUNTERS},
            **{name: kinds(name=name, description=name, kind=kinds.GAUGE) for name in _GAUGES},
        }
        self._metrics = {
            name: family.Metric(
                labels=labels, **({"buckets": list(_HISTOGRAMS[name])} if name in _HISTOGRAMS else {})
            )
            for name, family in self._families.items()
        }

    def state(self, *, running: int, waiting: int, cache: float) -> None:
        """How many run and wait, and the share of the cache in use."""
        for name, value in zip(_GAUGES, (running, waiting, cache), strict=True):
            self._metrics[name].set(value)

    def looked_up(self, tokens: int, known: int) -> None:
        """A prompt was read; this many of its tokens were in the cache."""
        self._metrics["vllm:prefix_cache_queries_total"].increment(tokens)
        self._metrics["vllm:prefix_cache_hits_total"].increment(known)

    def first_token(self, prompt: int, seconds: float) -> None:
        """The first token of an answer, this long after the request came."""
        self._metrics["vllm:prompt_tokens_total"].increment(prompt)
        self._metrics["vllm:generation_tokens_total"].increment(1)
        self._metrics["vllm:time_to_first_token_seconds"].observe(seconds)

    def later_token(self, seconds: float) -> None:
        """A token, this long after the previous one."""
        self._metrics["vllm:generation_tokens_total"].increment(1)
        self._metrics["vllm:time_per_output_token_seconds"].observe(seconds)

    def ended(self, seconds: float, prompt: int, answer: int) -> None:
        """The answer is complete."""
        self._metrics["vllm:e2e_request_latency_seconds"].observe(seconds)
        self._metrics["vllm:request_prompt_tokens"].observe(prompt)
        self._metrics["vllm:request_generation_tokens"].observe(answer)

    def put_back(self) -> None:
        """A request lost its room in the cache."""
        self._metrics["vllm:num_preemptions_total"].increment(1)
