"""The ONNX file and the way it is run."""

import numpy as np
import onnx
import pytest
from network import Network

from tritonobs.extensions.lab.load.images import jpeg
from tritonobs.extensions.lab.load.plates import draw_plate


@pytest.fixture(name="file", scope="module")
def _file(repository):
    return repository / "detector" / "1" / "model.onnx"


@pytest.fixture(name="network", scope="module")
def _network(file):
    return Network(file, threads=1)


def _tensors(chain, *counts):
    """Requests of so many images each."""
    bodies = iter(
        jpeg(draw_plate(np.random.default_rng([8, number]), width=640, height=480).pixels)
        for number in range(9)
    )
    return [np.concatenate([chain.prepare(next(bodies))[0] for _ in range(count)]) for count in counts]


def test_every_image_gets_the_rows_it_would_get_alone(network, chain):
    """Whatever shares its request or its batch; joined as for a GPU or one by one as for a CPU."""
    requests = _tensors(chain, 1, 3, 2)
    alone = [np.concatenate([network.infer([image[None]])[0] for image in request]) for request in requests]

    apart = network.infer(requests)
    network.on_gpu = True
    joined = network.infer(requests)
    network.on_gpu = False

    for found in (apart, joined):
        assert [rows.shape for rows in found] == [(1, 25200, 7), (3, 25200, 7), (2, 25200, 7)]
        for rows, expected in zip(found, alone, strict=True):
            np.testing.assert_allclose(rows, expected, rtol=1e-3, atol=1e-2)


def test_network_without_a_gpu_runs_on_the_cpu(file):
    """Triton may offer a device that onnxruntime cannot use."""
    network = Network(file, threads=1, device=0)

    assert network.infer([np.zeros((1, 3, 640, 640), np.float32)])[0].shape == (1, 25200, 7)


def test_file_is_small_and_old_runtimes_read_it(file):
    """Below 5 MB; operator set 17, which onnxruntime knows since 1.13."""
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)

    assert file.stat().st_size <= 5_000_000
    assert [entry.version for entry in model.opset_import] == [17]
    assert [entry.name for entry in (*model.graph.input, *model.graph.output)] == ["TENSOR", "DETECTIONS"]
