"""Build everything of a release into build/release/VERSION, as `make release` does (docs/release.md).

    python tools/release.py
    python tools/release.py --tag v1.2.3 --image registry.example.org/team/tritonobs
    python tools/release.py --trial --skip image

Nothing is built of a checkout that may not be released; every reason is told at once, with file and line.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path

from releasing import image, wheels
from releasing.checkout import CannotRelease
from releasing.refusals import refusals, version_of
from tritonobs.errors import TritonobsError
from tritonobs.findings import abridged

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("sdist", "wheels", "chart", "mixin", "boards", "image")
REFUSED, COULD_NOT = 1, 3
_NAME = re.compile(r"(?:[A-Za-z0-9.-]+(?::\d+)?/)?[a-z0-9._/-]+")
_OBJECTS = ("_gojsonnet", "click", "grafanalib", "pydantic", "yaml")


def main(words: list[str] | None = None, root: Path = ROOT) -> int:
    """Build, and say what was built. The exit code is 1 when it was refused, 3 when it could not be done."""
    options = _options().parse_args(words)
    wanted = {part for part in PARTS if part not in options.skip}
    try:
        found = [str(one) for one in abridged(refusals(root, options.tag))]
        for line in found:
            print(line, file=sys.stderr)
        if found and not options.trial:
            return _said("nothing was built; to build and try the artifacts all the same: --trial", REFUSED)
        if lacking := _missing(wanted):
            return _said("\n".join(lacking), COULD_NOT)
        from releasing.everything import build  # noqa: PLC0415 (needs what was just looked for)

        out = options.out or root / "build" / "release" / version_of(root)
        build(root, out, frozenset(wanted), options.image)
    except (CannotRelease, TritonobsError) as error:
        return _said(f"nothing was built: {error}", COULD_NOT)
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size:>12,}  {file}")
    if options.skip:
        print(f"left out: {', '.join(options.skip)}")
    print(f"try them: python tools/try_release.py {out}")
    return 0


def _options() -> argparse.ArgumentParser:
    about, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tag", default="", help="the tag that is released; refused unless it is vVERSION")
    parser.add_argument(
        "--image",
        type=_image_name,
        default="tritonobs",
        help="the image's name without a tag, for the chart, too (default: tritonobs, of no registry)",
    )
    parser.add_argument(
        "--skip", action="append", choices=PARTS, default=[], help="leave an artifact out; may be repeated"
    )
    parser.add_argument(
        "--trial",
        action="store_true",
        help="say what would be refused, and build all the same; not to be published",
    )
    parser.add_argument(
        "--out", type=Path, help="the folder, which is replaced (default: build/release/VERSION)"
    )
    return parser


def _image_name(text: str) -> str:
    """The name, if it has no tag and no digest: the tag is the version."""
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an image without a tag, such as registry.example.org/team/tritonobs"
        )
    return text


def _missing(wanted: set[str]) -> list[str]:
    """What has to be installed before these artifacts can be built, and how; nothing if all is here."""
    absent = [name for name in _OBJECTS if not importlib.util.find_spec(name)]
    if wanted & {"sdist", "wheels"}:
        absent += wheels.missing()
    found = [f"{', '.join(absent)} not here: pip install '.[release]'"] if absent else []
    if "wheels" in wanted and (why := wheels.unfit_headers()):
        found.append(why)
    if "image" in wanted and (why := image.missing()):
        found.append(f"{why}\nor leave it out: --skip image")
    return found


def _said(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
