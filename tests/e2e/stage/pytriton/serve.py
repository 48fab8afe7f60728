"""A function bound with PyTriton that makes stages as well as it can; says what a client got."""

import logging
import sys
import time

import numpy as np
import requests
from pytriton.decorators import batch
from pytriton.model_config import Tensor
from pytriton.triton import Triton, TritonConfig

from tritonobs.stage import Stages

COUNTED = 'nv_inference_request_success{model="twice",version="1"} 1'

logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
stages = Stages(
    {"model_name": "twice", "model_version": "1", "model_instance_name": "twice_0_0", "model_config": "{}"},
    None,
)


@batch
def twice(x):
    """Double it."""
    with stages.request(len(x)), stages.time("infer"):
        return [x * 2]


http_port, grpc_port, metrics_port = map(int, sys.argv[1:])
config = TritonConfig(
    http_port=http_port, grpc_port=grpc_port, metrics_port=metrics_port, http_address="127.0.0.1"
)
with Triton(config=config) as triton:
    row = {"dtype": np.float32, "shape": (-1,)}
    triton.bind("twice", twice, inputs=[Tensor(name="x", **row)], outputs=[Tensor(name="y", **row)])
    triton.run()
    asked = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [21]}]}
    answer = requests.post(
        f"http://127.0.0.1:{http_port}/v2/models/twice/infer",
        json=asked,
        headers={"Connection": "close"},
        timeout=30,
    )
    # Triton counts a request after it has answered it.
    deadline = time.monotonic() + 10
    page = ""
    while COUNTED not in page and time.monotonic() < deadline:
        page = requests.get(
            f"http://127.0.0.1:{metrics_port}/metrics", headers={"Connection": "close"}, timeout=30
        ).text
    ours = [line for line in page.splitlines() if line.startswith("tritonobs_")]
    counted = [line for line in page.splitlines() if line.startswith("nv_inference_request_success{")]
    said = f"answer {answer.json()['outputs'][0]['data']}\npage {ours}\ncounted {counted}\n"
    sys.stdout.write(said)
stages.finalize()
