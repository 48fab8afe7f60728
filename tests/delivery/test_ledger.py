"""The ledger remembers what was told but not acknowledged, for a while."""

from __future__ import annotations

from tritonobs.delivery.commit import REMEMBERED_SECONDS, Ledger

NEWS = ("fingerprint", "began", "firing")


def test_news_is_remembered_for_its_group() -> None:
    """Another group, or another state of the alert, is other news."""
    ledger = Ledger()
    ledger.remember("g", [NEWS], now=0.0)
    assert ledger.accepted("g", NEWS, now=1.0)
    assert not ledger.accepted("h", NEWS, now=1.0)
    assert not ledger.accepted("g", ("fingerprint", "began", "resolved"), now=1.0)


def test_memory_ends() -> None:
    """After its time, and once the caller knows."""
    ledger = Ledger()
    ledger.remember("g", [NEWS], now=0.0)
    assert not ledger.accepted("g", NEWS, now=REMEMBERED_SECONDS)
    ledger.acknowledge("g", [NEWS])
    assert not ledger.accepted("g", NEWS, now=1.0)
