"""Prompts for the model that behaves like a language model, over Triton's generate endpoint."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress

import requests


def ask(url, *, words=40, answer=24, seconds=60):
    """The words of one answer."""
    prompt = " ".join(f"w{number}" for number in range(words))
    given = {"text_input": prompt, "max_tokens": answer}
    done = requests.post(f"{url}/v2/models/llm/generate_stream", json=given, timeout=seconds, stream=True)
    done.raise_for_status()
    return sum(line.startswith(b"data:") for line in done.iter_lines())


@contextmanager
def prompts(url, *, at_once, words=40, answer=24, every=0.0):
    """So many callers ask one prompt after the other, `every` seconds apart, until the block ends."""
    stop = threading.Event()

    def go_on():
        while not stop.is_set():
            with suppress(requests.RequestException):
                ask(url, words=words, answer=answer)
            stop.wait(every)

    callers = [threading.Thread(target=go_on) for _ in range(at_once)]
    for caller in callers:
        caller.start()
    try:
        yield
    finally:
        stop.set()
        for caller in callers:
            caller.join()
