"""Bad and huge images on a running server: what clients get, and that their memory comes back."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tritonclient import http as triton_http

from tritonobs import assets
from tritonobs.extensions.lab.load.images import BROKEN, jpeg
from tritonobs.extensions.lab.load.plates import draw_plate
from tritonobs.extensions.lab.stack.native import lone_triton

pytestmark = pytest.mark.e2e

MEGABYTE = 1_000_000
GOOD = jpeg(draw_plate(np.random.default_rng(1), width=640, height=480).pixels)
WAYS = ("preprocess", "inspect", "inspect_ensemble")
BAD = {name: make(np.random.default_rng(1)) for name, make in BROKEN.items()} | {
    "damaged": GOOD[:20_000] + bytes(2000) + GOOD[22_000:],
    "webp": b"RIFF\x10\0\0\0WEBPVP8 " + bytes(100),
    "bmp": b"BM" + bytes(100),
    "tiff": b"II*\0" + bytes(100),
}


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    repository = shutil.copytree(assets.folder("models"), folder / "models")
    with lone_triton(repository, folder / "triton") as server:
        yield server


def _infer(server, model, body):
    """The answer's status as HTTP has it, and its text."""
    client = triton_http.InferenceServerClient(server.http_url.removeprefix("http://"), network_timeout=60)
    image = triton_http.InferInput("IMAGE", [1, 1], "BYTES")
    image.set_data_from_numpy(np.array([[body]], dtype=np.object_))
    try:
        client.infer(model, [image])
    except triton_http.InferenceServerException as error:
        return error.status(), error.message()
    finally:
        client.close()
    return "200", ""


def _memory(server):
    """Bytes that the server and its workers hold, in megabytes."""
    parent = server.part.process()
    held = [process.memory_info() for process in (parent, *parent.children(recursive=True))]
    return sum(info.rss for info in held) / MEGABYTE


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("model", WAYS)
def test_bad_image_is_the_clients_error_whatever_model_is_asked(server, model, kind):
    """400 and not 500, so that nobody sends it again; with the reason, and with what is read."""
    status, text = _infer(server, model, BAD[kind])

    assert status == "400"
    reason = kind if kind in BROKEN else "corrupt_image" if kind == "damaged" else "unsupported_format"
    assert f"{reason}: " in text
    assert ("JPEG and PNG are read" in text) == (reason in ("unsupported_format", "empty_image"))


@pytest.mark.parametrize("model", ["preprocess", "inspect"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff\xd8" + b"\xff" * 50 * MEGABYTE, id="fill bytes"),
        pytest.param(b"\xff\xd8" + b"\xff\xe1\0\2" * (12 * MEGABYTE), id="small segments"),
        pytest.param(GOOD + bytes(50 * MEGABYTE), id="an image and more"),
    ],
)
def test_too_many_bytes_are_refused(server, model, body):
    """As the client's error, with the limit."""
    assert _infer(server, model, body) == (
        "400",
        f"too_large: {len(body)} bytes, the limit is 32000000 bytes",
    )


def test_memory_does_not_grow_with_refused_images(server):
    """After the first few of 20 MB, 12 more hold none of their 240 MB, but for a few under way."""
    body = BAD["damaged"][:-2] + bytes(20 * MEGABYTE)
    for _ in range(4):
        _infer(server, "inspect", body)
    before = _memory(server)

    answers = [_infer(server, "inspect", body)[0] for _ in range(12)]

    assert answers == ["400"] * 12
    assert _memory(server) - before < 120


def test_neighbours_of_a_hostile_image_are_answered(server):
    """Good images in the same batches as endless ones."""
    endless = b"\xff\xd8" + b"\xff\xe1\0\2" * (7 * MEGABYTE)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: _infer(server, "preprocess", body)[0], [GOOD, endless] * 6))

    assert answers == ["200", "400"] * 6
