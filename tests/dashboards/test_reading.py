"""Boards can be read: colours that differ, axes that fit, units of the field, the worst on top."""

from __future__ import annotations

import re

import pytest

from tritonobs.render.grafana import load_boards

MODELS = (
    ("inspect", ("1",)), ("inspect_ensemble", ("1",)), ("preprocess", ("1",)), ("detector", ("2", "1")),
    ("nms", ("1",)), ("ocr", ("1",)), ("caption", ("1",)), ("classify", ("1",)),
)  # fmt: skip
SLOS = ("availability", "latency")
REPLICAS = ("triton-1", "triton-2", "triton-3")
# Stage, reason and kind are coloured by their own names; how many there are no build knows.
KNOWN = {"model", "version", "slo", "replica", "source"}


@pytest.fixture(name="built", scope="module")
def _built():
    """The boards of a fleet of eight models."""
    return load_boards({"models": MODELS, "slos": SLOS, "replicas": REPLICAS, "replica": "replica"})


def graphs(boards):
    """Every panel of lines, with the name of its board."""
    return [
        (name, panel)
        for name, board in boards.items()
        for panel in board["panels"]
        if panel["type"] == "timeseries"
    ]


def legends(template, models):
    """Every name that a series may have by this template."""
    filled = {template}
    rows = {"slo": SLOS, "replica": REPLICAS}
    names = set()
    for model, versions in models:
        for version in (*versions, "all") if len(versions) > 1 else versions:
            for slo in SLOS:
                for replica in rows["replica"]:
                    words = {
                        "model": model,
                        "version": version,
                        "slo": slo,
                        "replica": replica,
                        "source": "traces",
                    }
                    names |= {re.sub(r"\{\{(\w+)\}\}", lambda one, w=words: w[one[1]], one) for one in filled}
    return names


def colour_of(panel, name):
    """The colour that Grafana gives a series of this name: the last override that matches."""
    found = None
    for override in panel["fieldConfig"]["overrides"]:
        if re.search(str(override["matcher"]["options"]).strip("/"), name):
            found = next((one["value"] for one in override["properties"] if one["id"] == "color"), found)
    return found and found["fixedColor"]


def coloured(panel, models):
    """Colours of all series of a panel whose names a build knows."""
    templates = [target["legendFormat"] for target in panel["targets"]]
    return {
        name: colour_of(panel, name)
        for template in templates
        if set(re.findall(r"\{\{(\w+)\}\}", template)) <= KNOWN and "{{" in template
        for name in legends(template, models)
        if not name.startswith(("limit ", "threshold "))
    }


def test_no_two_series_of_a_graph_share_a_colour(built):
    """Of up to eight models; on the board of one model, of its versions."""
    for board, panel in graphs(built):
        models = MODELS[3:4] if board in {"model", "pipeline"} else MODELS
        found = coloured(panel, models)
        if any("{{replica}} {{model}}" in target["legendFormat"] for target in panel["targets"]):
            # A replica keeps its colour whatever it serves.
            found = {name.split()[0]: colour for name, colour in found.items()}
        if any("{{slo}} {{version}}" in target["legendFormat"] for target in panel["targets"]):
            # Versions of one promise share its colour.
            found = {" ".join(name.split()[:2]): colour for name, colour in found.items()}
        assert None not in found.values(), (board, panel["title"], found)
        assert len(set(found.values())) == len(found), (board, panel["title"], found)


def test_a_model_keeps_its_colour_on_every_board(built):
    """Wherever the name of a model and its version is all that a series is called."""
    seen = {
        colour_of(panel, "preprocess 1")
        for _, panel in graphs(built)
        if any(target["legendFormat"] == "{{model}} {{version}}" for target in panel["targets"])
    }

    assert len(seen) == 1


def test_names_that_no_build_knows_get_colours_in_turn(panels):
    """By their names Grafana gives three of four reasons a white that nobody tells apart."""
    modes = {
        panel["fieldConfig"]["defaults"]["color"]["mode"]
        for _, panel in panels
        if panel["type"] == "timeseries"
    }
    assert modes == {"palette-classic"}


def test_what_triton_counts_has_colours_of_its_own(built):
    """Four reasons, four colours; what Triton could not do is red."""
    (panel,) = [one for _, one in graphs({"fleet": built["fleet"]}) if one["title"].startswith("Failures as")]
    found = {name: colour_of(panel, name) for name in ("REJECTED", "CANCELED", "BACKEND", "OTHER")}
    assert len(set(found.values()) - {None}) == 4
    assert found["BACKEND"] == "#E5484D"


def light_of(colour):
    """The relative luminance of a colour, as WCAG computes it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["#FFFFFF", "#181B1F"], ids=["light", "dark"])
def test_numbers_can_be_read_in_both_themes(panels, theme):
    """Every colour of a threshold has a contrast of 2; the yellow of lines has 1.3 on white."""
    colours = {
        step["color"]
        for _, panel in panels
        for part in (
            panel["fieldConfig"]["defaults"],
            *(
                {one["id"]: one["value"] for one in override["properties"]}
                for override in panel["fieldConfig"]["overrides"]
            ),
        )
        for step in part.get("thresholds", {"steps": []})["steps"]
    }
    assert len(colours) >= 4
    for colour in colours:
        dim, bright = sorted((light_of(colour), light_of(theme)))
        assert (bright + 0.05) / (dim + 0.05) > 2, colour


def test_what_failed_on_the_way_of_an_alert_is_red(built):
    """And what was accepted is not."""
    found = {
        name: colour_of(panel, name)
        for _, panel in graphs({"delivery": built["delivery"]})
        for name in ("oncall accepted", "failed", "missed")
        if colour_of(panel, name)
    }
    assert found == {"oncall accepted": "#2FBF8F", "missed": "#E69F00", "failed": "#E5484D"}


def test_hostile_names_are_names(built):
    """A model may be called `a.b+c (x)`; its colour is its own."""
    boards = load_boards({"models": (("a.b+c (x)", ("1",)), ("aXb+c (x)", ("1",)))})
    (panel,) = [one for _, one in graphs({"fleet": boards["fleet"]}) if one["title"].startswith("Queue time")]

    assert colour_of(panel, "a.b+c (x) 1") not in {None, colour_of(panel, "aXb+c (x) 1")}


# Machado, Oliveira and Fernandes (2009): how people without green or red cones see linear RGB.
EYES = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no green": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "no red": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
}  # fmt: skip


def lab(colour, eyes):
    """A colour in CIE L*a*b*, as these eyes see it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (min(1, max(0, sum(k * v for k, v in zip(row, linear, strict=True)))) for row in eyes)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    fx, fy, fz = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("eyes", EYES.values(), ids=EYES)
def test_hues_are_told_apart_by_all_eyes(built, eyes):
    """Any two of the eight hues differ by more than 10 in CIE76, where 2.3 is just noticeable."""
    (panel,) = [one for _, one in graphs({"fleet": built["fleet"]}) if one["title"].startswith("Queue time")]
    hues = [lab(colour_of(panel, f"{model} {versions[0]}"), eyes) for model, versions in MODELS]
    apart = [
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for place, one in enumerate(hues)
        for other in hues[place + 1 :]
    ]

    assert min(apart) > 10


def test_an_axis_of_zeros_does_not_reach_to_a_hundred(boards):
    """A graph without a maximum has a soft one, in its own unit."""
    for board, panel in graphs(boards):
        defaults = panel["fieldConfig"]["defaults"]
        logarithmic = defaults["custom"]["scaleDistribution"]["type"] == "log"
        if "max" not in defaults and not logarithmic:
            assert defaults["custom"]["axisSoftMax"] > 0, (board, panel["title"])


def test_units_are_of_the_field(panels):
    """No `0.05 c/s`; what lasts minutes is not `3.33 mins`; megapixels and boxes have an axis each."""
    for board, panel in panels:
        units = str(panel["fieldConfig"])
        assert "'cps'" not in units, (board, panel["title"])
        kinds = "stage_size" in str(panel["targets"])
        assert not kinds or "kind" in panel["targets"][0]["expr"].split("stage=~", 1)[1][:60]


def test_a_value_without_thresholds_has_no_colour(panels):
    """Blue says neither good nor bad."""
    for board, panel in panels:
        if panel["type"] == "stat":
            steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
            assert (panel["options"]["colorMode"] == "none") == (len(steps) == 1), (board, panel["title"])


def test_latency_is_judged_by_its_target(panels):
    """A P99 of 1.08 s at a target of 0.5 s is red; so are first tokens and those after them."""
    judged = [
        (board, panel["fieldConfig"]["defaults"]["thresholds"]["steps"][-1])
        for board, panel in panels
        if panel["type"] == "stat" and "latency_target" in panel["targets"][0]["expr"]
    ]

    assert [board for board, _ in judged] == ["fleet", "model", "language", "language"]
    assert {(step["value"], step["color"]) for _, step in judged} == {(1, "#E5484D")}


def test_bars_have_the_worst_on_top(panels):
    """The least budget, the most of everything else."""
    for board, panel in panels:
        if panel["type"] == "bargauge":
            order = "sort(" if "budget_remaining" in panel["targets"][0]["expr"] else "sort_desc("
            assert panel["targets"][0]["expr"].startswith(order), (board, panel["title"])


def test_headers_of_tables_fit(panels):
    """Ten columns on 1280 pixels: 11 letters each."""
    for board, panel in panels:
        if panel["type"] == "table":
            organised = next(one for one in panel["transformations"] if one["id"] == "organize")
            headers = list(organised["options"]["renameByName"].values())
            assert max(map(len, headers)) <= 11, (board, headers)
            columns = {one["matcher"]["options"] for one in panel["fieldConfig"]["overrides"]}
            assert set(headers) <= columns


def test_toggles_are_few(boards):
    """Toggles and links share a line with the variables."""
    for board in boards.values():
        assert len(board["annotations"]["list"]) <= 3


def test_a_legend_never_takes_half_a_panel(boards):
    """To the right of a graph it has a width of its own; half of half a board on 1280 pixels are 300."""
    for board, panel in graphs(boards):
        legend = panel["options"]["legend"]
        if legend["placement"] == "right":
            assert legend["width"] < 300 * panel["gridPos"]["w"] / 12, (board, panel["title"])


def test_limits_neither_fill_the_legend_nor_lift_the_axis(boards):
    """A limit is drawn where at least a fifth of it is used; five alike are one line."""
    for board, panel in graphs(boards):
        for target in panel["targets"]:
            if "qps_limit" in target["expr"]:
                assert re.search(r"> on \([^)]*\)\s*0\.2 \*", target["expr"]), (board, panel["title"])
        for override in panel["fieldConfig"]["overrides"]:
            shown = {one["id"]: one["value"] for one in override["properties"]}
            if "custom.lineStyle" in shown:
                assert shown["custom.hideFrom"]["legend"], (board, panel["title"])
