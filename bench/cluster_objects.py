"""Large fleets given to kubectl and to the operator, and the chart of a small one from lint to uninstall."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, TypeVar

import yaml
from results import table

from support.control_plane import ControlPlane, parts, prometheus_object, wait
from support.fleets import build_objects, many_models
from support.operated import arrived_groups, built_groups, refusals
from support.schemas import write_schemas
from tritonobs.extensions.kubernetes.objects import weight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_Made = TypeVar("_Made")
_SERVER_SIDE = ("--server-side", "--force-conflicts")
_PATIENCE_SECONDS = 300.0


def measure(folder: Path, sizes: Sequence[int]) -> tuple[str, object, bool]:
    """How large the objects are, how long it takes, what is refused, and whether all rules arrive."""
    rows, values = [], []
    with ControlPlane(folder, operator=True) as plane:
        plane.kubectl("create", "namespace", "monitoring")
        plane.kubectl("create", "namespace", "models")
        plane.apply(prometheus_object())
        for models in sizes:
            one = _applied(plane, folder / f"models-{models}", models)
            values.append(one)
            rows.append(
                [f"{value:,}" if isinstance(value, int) else f"{value:.1f}" for value in one.values()]
            )
        chart = _chart(plane, folder / "chart", max(sizes))
    good = not any(one["refused"] or one["groups arrived"] != one["groups built"] for one in values)
    text = (
        "The operator is 0.85.0 and the API server 1.36.3. Applied with `kubectl apply -k`, and again with "
        "`--server-side`; times are seconds. A group has arrived when the operator's ConfigMap has each of "
        f"its rules as it was built.\n\n{table(list(values[0]), rows)}\n\n"
        f"The chart of the fleet of {max(sizes):,} models:\n\n"
        f"{table(['step', 'result'], [[step, result] for step, result in chart.items()])}"
    )
    fine = chart["kubeconform -strict"].endswith("invalid 0, errors 0, skipped 0")
    return text, {"fleets": values, "chart": chart}, good and fine and chart["left behind"] == "0 objects"


def _applied(plane: ControlPlane, folder: Path, models: int) -> dict[str, float]:
    built, made = _timed(lambda: build_objects(folder, many_models(models)))
    base = made / "base"
    objects = [yaml.load(one.read_text(), Loader=yaml.CSafeLoader) for one in _files(base)]
    client, _ = _timed(lambda: plane.kubectl("apply", "-k", str(base)))
    server, _ = _timed(lambda: plane.kubectl("apply", *_SERVER_SIDE, "-k", str(base)))
    wanted = built_groups(made)
    began = time.monotonic()
    arrived: list[str] = []

    def same() -> bool:
        arrived[:] = arrived_groups(plane)
        return arrived == wanted

    try:
        wait(same, "the rules", seconds=_PATIENCE_SECONDS)
    except TimeoutError as late:
        print(late)
    taken = time.monotonic() - began
    plane.kubectl("delete", "-k", str(base))
    wait(lambda: not arrived_groups(plane), "the operator to forget them", seconds=_PATIENCE_SECONDS)
    return {
        "models": models,
        "objects": len(objects),
        "largest, bytes": max(map(weight, objects)),
        "build": built,
        "client-side": client,
        "server-side": server,
        "operator": taken,
        "refused": len(refusals(plane)),
        "groups built": len(wanted),
        "groups arrived": len(set(arrived) & set(wanted)),
    }


def _chart(plane: ControlPlane, folder: Path, models: int) -> dict[str, str]:
    made = build_objects(folder, many_models(models))
    chart, place = str(made / "chart"), ("--namespace", "monitoring")
    before = plane.everything()
    done: dict[str, str] = {}
    lint = plane.program("helm", "lint", chart, *place)
    done["helm lint"] = next(line for line in lint.splitlines() if "linted" in line)
    template = plane.program("helm", "template", "t", chart, *place)
    done["helm template"] = f"{template.count(chr(10) + 'kind: ')} objects"
    for step in ("install", "upgrade"):
        seconds, _ = _timed(lambda step=step: plane.program("helm", step, "t", chart, *place))  # type: ignore[misc] # a lambda's default has no type
        done[f"helm {step}"] = f"{seconds:.1f} s"
    done["kubeconform -strict"] = _conforms(plane, folder, _files(made / "base"))
    seconds, _ = _timed(lambda: plane.program("helm", "uninstall", "t", *place, "--wait"))
    done["helm uninstall"] = f"{seconds:.1f} s"
    wait(lambda: not arrived_groups(plane), "the operator to forget the rules")
    done["left behind"] = f"{len(plane.everything() - before)} objects"
    return done


def _conforms(plane: ControlPlane, folder: Path, files: Sequence[Path]) -> str:
    """Kubeconform's own summary, by the schemas of this API server."""
    schemas = folder / "schemas"
    write_schemas(yaml.safe_load(plane.kubectl("get", "--raw=/openapi/v2")), schemas)
    location = str(schemas) + "/{{ .ResourceKind }}{{ .KindSuffix }}.json"
    words = ["-strict", "-summary", "-schema-location", location, *map(str, files)]
    said = subprocess.run([str(parts() / "kubeconform"), *words], capture_output=True, text=True, check=False)
    return said.stdout.strip().rpartition(" - ")[2].lower().replace(":", "")


def _files(base: Path) -> list[Path]:
    return [one for one in sorted(base.glob("*.yaml")) if one.name != "kustomization.yaml"]


def _timed(what: Callable[[], _Made]) -> tuple[float, _Made]:
    began = time.monotonic()
    made = what()
    return time.monotonic() - began, made
