"""Handles that outlive a block of code: a request until its answer, an answer while it is generated."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from time import perf_counter
from typing import TYPE_CHECKING, Final

from tritonobs.stage import series
from tritonobs.stage.series import INVALID, REQUESTS, STAGE_ERRORS, STAGE_ITEMS, TOTAL

if TYPE_CHECKING:
    from tritonobs.stage.record import Recorder
    from tritonobs.stage.series import Outcome


class InvalidInput(ValueError):  # noqa: N818 (reads as an event, as HTTP's "bad request" does)
    """The client's input is not valid: the caller's fault, as HTTP's 400.

    If it leaves a `request` block, the requests of the block are `invalid` and not `error`, and are counted
    under `stage` and `reason`. A model that catches it to answer each request of a batch itself calls
    `request.outcome("invalid")` and `stages.invalid(stage, reason)`. `reason` is one of a small fixed set,
    the text is for people.
    """

    def __init__(self, text: str, *, reason: str = "invalid_input", stage: str = TOTAL) -> None:
        super().__init__(text)
        self.reason = reason
        self.stage = stage


class Request:
    """`n` requests, from when this was made until `end`, or until the end of its `with` block.

    Then `total` gets `n` observations and each request one outcome: those named by `outcome` theirs, the rest
    `ok`. If the block raises, Triton answers all of them with an error, so the rest is `error`, or `invalid`
    if it was `InvalidInput`. Any thread may end it; a sender thread of a decoupled model does.

    `_record.c` is the same, compiled; it calls the functions below for what is not everyday.
    """

    __slots__ = ("_recorder", "_rest", "_timer")

    def __init__(self, recorder: Recorder, n: int) -> None:
        self._recorder = recorder
        self._rest = n
        self._timer = recorder.time(TOTAL, n)

    @property
    def seconds(self) -> float:
        """How long it took, or has taken until now."""
        return self._timer.seconds

    def outcome(self, outcome: Outcome, n: int = 1) -> None:
        """Set the outcome of `n` of the requests; any but `ok` for the rest."""
        self._rest = _told(self._recorder, self._rest, outcome, n)

    def end(self, outcome: Outcome = "ok") -> float:
        """Record once, `outcome` for those without one; return the seconds."""
        if self._timer.finish():
            self._recorder.count((REQUESTS, outcome), self._rest)
        return self._timer.seconds

    def __enter__(self) -> Request:  # noqa: PYI034 (typing.Self is newer than Python 3.10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None = None, _trace: object = None
    ) -> None:
        if not self._timer.finish():
            return
        if kind is None:
            self._recorder.count((REQUESTS, "ok"), self._rest)
        else:
            _failed(self._recorder, self._rest, error)


def _told(recorder: Recorder, rest: int, outcome: Outcome, n: int) -> int:
    """Count an outcome of `n` requests; how many of the rest are left."""
    if isinstance(outcome, str) and outcome == "ok":
        return rest
    recorder.count((REQUESTS, outcome), n)
    # A value that is not a whole number was counted as invalid, and no record raises.
    with suppress(TypeError):
        return max(0, index(rest) - index(n))
    return rest


def _failed(recorder: Recorder, rest: int, error: BaseException | None) -> None:
    """Count the rest of a block that raised."""
    if isinstance(error, InvalidInput):
        recorder.count((REQUESTS, INVALID), rest)
        recorder.count((STAGE_ERRORS, error.stage, error.reason, INVALID), rest)
    else:
        recorder.count((REQUESTS, "error"), rest)


IN_PYTHON: Final = (Request, TOTAL, REQUESTS, _told, _failed)
"""What a recorder needs for requests: this class, or, compiled, its names and what is not everyday."""


class Answer:
    """Times a generated answer from when this was made: the first token, and the time between the others.

    Tokens in and out are items of `total`. Any thread may call `token`, one at a time.
    """

    def __init__(self, recorder: Recorder, tokens_in: int) -> None:
        self._recorder = recorder
        self._first = True
        self._before = perf_counter()
        recorder.count((STAGE_ITEMS, TOTAL, series.TOKENS_IN), tokens_in)

    def token(self, n: int = 1) -> None:
        """Say that `n` tokens came out together, in equal shares of the time since the ones before.

        None is not a token: an empty chunk of a stream starts and ends nothing.
        """
        try:
            tokens = index(n)
        except TypeError:
            tokens = -1
        if tokens > 0:
            now = perf_counter()
            gap, self._before = now - self._before, now
            if self._first:
                self._first = False
                self._recorder.distribute(series.FIRST_TOKEN, gap, 1)
            else:
                self._recorder.distribute(series.OUTPUT_TOKEN, gap / tokens, tokens)
        if tokens:
            self._recorder.count((STAGE_ITEMS, TOTAL, series.TOKENS_OUT), n)

    def __enter__(self) -> Answer:  # noqa: PYI034 (as above)
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is left to do: generated tokens have been counted."""
