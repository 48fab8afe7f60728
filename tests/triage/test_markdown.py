"""`triage --format markdown`, for chats and tickets."""

from __future__ import annotations

from tritonobs.extensions.triage.judge import Verdict
from tritonobs.extensions.triage.tables import verdict_markdown
from tritonobs.timings.ask import Unseen
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import Span

ENDS = 1_780_000_000.0


def _verdict(name="inspect", **more):
    cause = Cause(
        check="qps_limit",
        place=(name, ""),
        sentence=f"{name} gets too much",
        confidence=0.9,
        evidence=(Evidence("requests", 8.0, 12.5, "per_second"),),
        next_steps=("find out who sends",),
        since=ENDS - 120,
    )
    usual = {
        "status": "wrong",
        "sentence": cause.sentence,
        "incident": Span(start=ENDS - 600, end=ENDS),
        "baseline": Span(start=ENDS - 1200, end=ENDS - 600),
        "causes": (cause,),
        "following": (),
        "slowdowns": (),
        "firing": (),
        "unseen": (),
    }
    return Verdict(**usual | more)


def test_it_is_the_verdict_in_markdown():
    """Sentence, time, cause with evidence, what to do as a list to tick off, alerts, links."""
    text = verdict_markdown(
        _verdict(firing=("TritonQpsAboveLimit",)), [("page of qps_limit", "http://serve/checks/qps_limit")]
    )

    assert text.splitlines() == [
        "**UNHEALTHY: inspect gets too much**",
        "",
        "window 10m ending 2026-05-28 20:26:40 UTC, baseline 10m ending 2026-05-28 20:16:40 UTC",
        "",
        "### inspect gets too much",
        "",
        "`qps_limit`, confidence 90%, since 2026-05-28 20:24:40 UTC (2m ago)",
        "",
        "- requests: 12.5/s (was 8/s)",
        "",
        "- [ ] find out who sends",
        "",
        "- Alerts firing: TritonQpsAboveLimit",
        "",
        "[page of qps\\_limit](http://serve/checks/qps_limit)",
    ]


def test_names_are_shown_as_text():
    """No markup of theirs works, and no control character acts."""
    text = verdict_markdown(_verdict("[x](http://evil) **b** <img> `c` \x1b|"))

    assert "\\[x\\](http://evil) \\*\\*b\\*\\* \\<img\\> \\`c\\` \\\\x1b\\|" in text
    assert "\x1b" not in text


def test_it_says_what_was_not_read():
    """A fleet that could not be read is not healthy."""
    unseen = (Unseen(what="triton-2", why="no connection"),)
    text = verdict_markdown(
        _verdict(status="blind", sentence="no requests to inspect were seen", causes=(), unseen=unseen)
    )

    assert text.startswith("**NO VERDICT: no requests to inspect were seen**\n")
    assert "- Unavailable data: triton-2: no connection" in text
