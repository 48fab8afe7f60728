"""An engine that behaves like those of language models: its batch changes at every token, its cache fills up.

A word is a token. Time is slept, not computed; what waits, what is put back and how full the cache is follow
the rules of vLLM: a prompt needs room before it is read, an answer needs one more token of room at each step,
and when there is none the youngest request loses its room and begins again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK = 16


@dataclass(slots=True, eq=False)
class Sequence:
    """One request: `say` gets each word of the answer, and None at its end."""

    words: tuple[str, ...]
    wanted: int
    say: Callable[[str | None], None]
    came: float = field(default_factory=time.monotonic)
    made: int = 0
    said: int = 0
    last: float = 0.0

    @property
    def room(self) -> int:
        """Tokens of the cache that it takes."""
        return len(self.words) + self.made


class Engine(threading.Thread):
    """Serves sequences until `stop`; only this thread calls `meter`, with what happens."""

    def __init__(
        self,
        meter: object,
        *,
        cache_tokens: int,
        max_num_seqs: int,
        read_seconds: float,
        step_seconds: float,
        seat_seconds: float,
    ) -> None:
        super().__init__(daemon=True)
        self._meter = meter
        self._cache, self._most = cache_tokens, max_num_seqs
        self._read, self._step, self._seat = read_seconds, step_seconds, seat_seconds
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._seen: set[tuple[str, ...]] = set()
        self._news = threading.Condition()
        self._ended = False

    def add(self, sequence: Sequence) -> bool:
        """Take a request; False when it could never fit into the cache."""
        if len(sequence.words) + sequence.wanted > self._cache:
            return False
        with self._news:
            self._waiting.append(sequence)
            self._news.notify()
        return True

    def stop(self) -> None:
        """End after the current step; what still waits gets no answer."""
        with self._news:
            self._ended = True
            self._news.notify()
        self.join()

    def run(self) -> None:
        """Step after step, as long as there is something to do."""
        while True:
            with self._news:
                if not (self._ended or self._waiting or self._running):
                    self._tell()
                self._news.wait_for(lambda: self._ended or self._waiting or self._running)
                if self._ended:
                    break
            self._admit()
            self._advance()
            self._tell()
        for sequence in (*self._running, *self._waiting):
            sequence.say(None)

    def _used(self) -> int:
        return sum(one.room for one in self._running)

    def _tell(self) -> None:
        used = self._used() / self._cache
        self._meter.state(running=len(self._running), waiting=len(self._waiting), cache=used)

    def _admit(self) -> None:
        """Read the prompts that have room; those whose beginning was read before are read faster."""
        while self._waiting and len(self._running) < self._most:
            one = self._waiting[0]
            if self._used() + one.room + 1 > self._cache:
                return
            self._running.append(self._waiting.popleft())
            known = self._known(one.words)
            self._meter.looked_up(len(one.words), known)
            time.sleep(self._read * (one.room - known))

    def _known(self, words: tuple[str, ...]) -> int:
        starts = [words[:end] for end in range(_BLOCK, len(words) + 1, _BLOCK)]
        known = sum(start in self._seen for start in starts) * _BLOCK
        self._seen.update(starts)
        return known

    def _advance(self) -> None:
        """One more token for every running request."""
        time.sleep(self._step + self._seat * len(self._running))
        for one in tuple(self._running):
            while one in self._running and self._used() + 1 > self._cache:
                self._put_back(self._running[-1])
            if one not in self._running:
                continue
            now = time.monotonic()
            one.made += 1
            if one.made > one.said:
                one.said = one.made
                one.say(f"word{one.made} ")
                if one.made == 1:
                    self._meter.first_token(len(one.words), now - one.came)
                else:
                    self._meter.later_token(now - one.last)
                one.last = now
            if one.made >= one.wanted:
                self._running.remove(one)
                one.say(None)
                self._meter.ended(now - one.came, len(one.words), one.made)

    def _put_back(self, one: Sequence) -> None:
        """It loses its room, and the tokens of its answer are made again without being sent."""
        self._running.remove(one)
        one.made = 0
        with self._news:
            self._waiting.appendleft(one)
        self._meter.put_back()
