"""The page of an incident in a real browser: on a telephone and on a wide screen, light and dark."""

from __future__ import annotations

import pytest

from tritonobs.delivery.payload import Alert
from tritonobs.extensions.incidents.account import LANGUAGES
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.incidents.join import State, join
from tritonobs.extensions.incidents.pages import Picture, incident_page
from tritonobs.extensions.incidents.recorder import Recorded, entry_of
from tritonobs.timings.cause import Cause

pytestmark = pytest.mark.e2e
BEGAN = 1_780_000_000.0
PICTURES = tuple(
    Picture(
        title=title,
        svg=b"<svg xmlns='http://www.w3.org/2000/svg' width='380' height='200' viewBox='0 0 380 200'/>",
    )
    for title in (
        "Requests per second and their limit, 1 min",
        "Outcomes, 1 min",
        "Requests queued and in flight, 5 min",
    )
)
LONG = "inspect_" + "x" * 120


@pytest.fixture(name="recorded")
def _recorded():
    """An incident with a name too long for a telephone, several alerts and a cause with three steps."""
    alerts = [
        Alert.model_validate(
            {
                "status": "firing",
                "labels": {"alertname": name, "severity": "critical", "model": LONG, "version": "1"},
                "startsAt": "2026-05-28T20:26:40Z",
            }
        )
        for name in ("TritonQpsAboveLimit", "TritonQueueWaitHigh", "TritonErrorBudgetBurnFast")
    ]
    cause = Cause(
        check="qps_limit",
        place=(LONG, ""),
        sentence=f"{LONG} got 12 requests/s, its limit is 8 requests/s",
        confidence=0.96,
        since=BEGAN,
        next_steps=("find the client", f"tritonobs limits suggest --model {LONG}", "raise the limit"),
    )
    verdict = type("Verdict", (), {"causes": (cause,), "following": ()})()
    step = join(State(), BEGAN + 30, alerts, Fleet(edges={LONG: {}}), verdict)
    return Recorded(entry=entry_of(step.incidents[0], BEGAN + 30), readings={})


@pytest.mark.parametrize("width", [360, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_nothing_is_wider_than_the_screen_and_everything_can_be_read(
    browser, recorded, width, scheme, language
):
    """No sideways scrolling; text and background differ enough (WCAG AA asks for 4.5 to 1)."""
    page = browser.new_page(viewport={"width": width, "height": 700}, color_scheme=scheme)
    try:
        text = incident_page(
            recorded, words=LANGUAGES[language], pictures=PICTURES, silence="http://alertmanager.shop/"
        )
        page.set_content(text)

        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h1").inner_text().startswith("inspect_")
        assert page.locator("h2").count() == 3
        assert page.locator("td.at").count() == 4
        assert page.evaluate("[...document.images].map(image => image.naturalWidth)") == [380] * 3
        tops = page.evaluate("[...document.images].map(image => image.getBoundingClientRect().top)")
        assert len(set(tops)) == (3 if width == 360 else 1), "side by side where there is room"
        ratio = page.evaluate(
            """() => {
              const light = (text) => {
                const parts = text.match(/[0-9.]+/g).slice(0, 3).map(Number)
                  .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
              };
              const dark = matchMedia('(prefers-color-scheme: dark)').matches;
              const back = dark ? light('rgb(18, 18, 18)') : 1;
              return Math.min(...['h1', 'p.quiet', 'td', 'pre'].map(name => {
                const front = light(getComputedStyle(document.querySelector(name)).color);
                return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
              }));
            }"""
        )
        assert ratio >= 4.5
    finally:
        page.close()
