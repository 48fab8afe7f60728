"""The engine of the model that behaves like a language model."""

import pytest
from engine import Engine, Sequence


class Meter:
    """Notes nothing but how many ran and how many were put back."""

    def __init__(self):
        self.most_running = self.put_back_requests = 0

    def state(self, *, running, **_):
        """How full it is."""
        self.most_running = max(self.most_running, running)

    def put_back(self):
        """A request lost its room."""
        self.put_back_requests += 1

    def __getattr__(self, name):
        return lambda *_: None


@pytest.fixture(name="served")
def _served(monkeypatch):
    """Serves so many prompts; the seconds of its steps, in which nobody waits, and what its meter noted."""

    def serve(prompts, *, words, wanted, cache_tokens):
        steps, ended, meter = [], [], Meter()
        monkeypatch.setattr("engine.time.sleep", steps.append)
        engine = Engine(
            meter, cache_tokens=cache_tokens, max_num_seqs=8, read_seconds=0.0, step_seconds=0.02,
            seat_seconds=0.001,
        )  # fmt: skip
        for _ in range(prompts):
            answer = []

            def say(word, answer=answer):
                answer.append(word)
                if word is None:
                    ended.append(len(answer) - 1)
                    if len(ended) == prompts:
                        engine._ended = True

            assert engine.add(Sequence(words=("word",) * words, wanted=wanted, say=say))
        engine.run()
        return sorted({round(step, 4) for step in steps if step}), ended, meter

    return serve


def test_each_running_answer_makes_a_token_slower(served):
    """Alone a step takes 21 ms, with three others 24 ms."""
    assert served(1, words=5, wanted=3, cache_tokens=600)[:2] == ([0.021], [3])
    assert served(4, words=5, wanted=3, cache_tokens=600)[:2] == ([0.024], [3, 3, 3, 3])


def test_answers_that_outgrow_the_cache_are_put_back_and_end_all_the_same(served):
    """Room for two prompts, not for their answers: every caller gets all of its tokens, each of them once."""
    _, ended, meter = served(2, words=40, wanted=20, cache_tokens=90)

    assert ended == [20, 20]
    assert (meter.most_running, meter.put_back_requests) == (2, 3)
