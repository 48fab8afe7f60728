"""Writes the trained networks as one ONNX graph: heads, decoding, then the best boxes refined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from detector.network import ACROSS, ALONG, ANCHORS, BEYOND, REACH, ROW, STRIDES, Pair, heads, side_offset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detector.training import Weights

REFINED = 32
"""So many boxes of an image are refined, best first; at most one around a place and stride."""
WORTH_REFINING = 0.05
"""The lowest score of a row that is refined; what is reported has a higher one."""
_OPSET, _IR_VERSION = 17, 8  # onnxruntime 1.13 and newer
_LAST = np.iinfo(np.int64).min


class OnnxOps:
    """`Ops` on names of tensors (n, channels, height, width), collecting nodes and constants."""

    def __init__(self, weights: Weights) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self._weights = weights

    def node(self, kind: str, *inputs: str | NDArray[Any], outputs: int = 1, **attributes: Any) -> Any:  # noqa: ANN401 (a name, or several)
        """Add a node; arrays among its inputs become constants."""
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        made = [f"{kind.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, made, **attributes))
        return made[0] if outputs == 1 else made

    def constant(self, value: NDArray[Any], name: str = "") -> str:
        """The name of a constant; equal ones are kept once."""
        key = name or f"c{value.dtype}{value.shape}{hash(value.tobytes())}"
        self.constants.setdefault(key, numpy_helper.from_array(np.ascontiguousarray(value), key))
        return key

    def conv(
        self, x: str, name: str, out: int, *, size: Pair = (3, 3), stride: Pair = (1, 1), pad: Pair = (1, 1)
    ) -> str:
        """As `Ops` says."""
        weights = self._weights[f"{name}.w"].transpose(3, 2, 0, 1)
        if weights.shape[0] != out:
            raise ValueError(f"{name} has {weights.shape[0]} outputs, the network says {out}")
        named = [self.constant(weights, f"{name}.w"), self.constant(self._weights[f"{name}.b"], f"{name}.b")]
        return self.node("Conv", x, *named, kernel_shape=size, strides=stride, pads=[*pad, *pad])

    def relu(self, x: str) -> str:
        """As `Ops` says."""
        return self.node("Relu", x)

    def add(self, x: str, y: str) -> str:
        """As `Ops` says."""
        return self.node("Add", x, y)

    def double(self, x: str) -> str:
        """As `Ops` says."""
        scales = np.array([1, 1, 2, 2], np.float32)
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.node("Resize", x, "", scales, **how)

    def extremes(self, x: str) -> str:
        """As `Ops` says."""
        reduced = [self.node(kind, x, axes=[2], keepdims=1) for kind in ("ReduceMax", "ReduceMean")]
        return self.node("Concat", *reduced, axis=1)


def build_model(weights: Weights, *, side: int = 640) -> onnx.ModelProto:
    """TENSOR (n, 3, side, side) to DETECTIONS (n, rows, ROW): YOLOv5's rows with sigmoids applied."""
    ops = OnnxOps(weights)
    levels = [
        _decode(ops, raw, stride, anchors, side // stride)
        for raw, stride, anchors in zip(heads(ops, "TENSOR"), STRIDES, ANCHORS, strict=True)
    ]
    rows = ops.node("Concat", *(rows for rows, _ in levels), axis=1)
    peaks = ops.node("Concat", *(peaks for _, peaks in levels), axis=1)
    score, best = ops.node("TopK", peaks, _count_worth_it(ops, peaks), outputs=2, axis=1, sorted=1)
    images = _image_numbers(ops, best)
    where = ops.node("Concat", images, ops.node("Unsqueeze", best, np.array([2])), axis=2)
    chosen = ops.node("GatherND", rows, where)
    boxes, scores = ops.node("Split", chosen, np.array([4, ROW - 4]), outputs=2, axis=2)
    found = boxes = _corners(ops, boxes)
    for stage in range(len(REACH)):
        boxes = _refine(ops, boxes, ops.node("Reshape", images, np.array([-1])), stage)
    worth_it = ops.node("Greater", ops.node("Unsqueeze", score, np.array([2])), np.float32(WORTH_REFINING))
    boxes = ops.node("Where", worth_it, boxes, found)
    low, high = ops.node("Split", boxes, np.array([2, 2]), outputs=2, axis=2)
    centre = ops.node("Mul", ops.node("Add", low, high), np.float32(0.5))
    refined = ops.node("Concat", centre, ops.node("Sub", high, low), scores, axis=2)
    ops.nodes.append(helper.make_node("ScatterND", [rows, where, refined], ["DETECTIONS"]))
    count = sum(3 * (side // stride) ** 2 for stride in STRIDES)
    graph = helper.make_graph(
        ops.nodes,
        "detector",
        [helper.make_tensor_value_info("TENSOR", TensorProto.FLOAT, ["n", 3, side, side])],
        [helper.make_tensor_value_info("DETECTIONS", TensorProto.FLOAT, ["n", count, ROW])],
        list(ops.constants.values()),
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION, producer_name="tritonobs")
    onnx.checker.check_model(model, full_check=True)
    return model


def _decode(ops: OnnxOps, raw: str, stride: int, anchors: tuple[float, ...], grid: int) -> tuple[str, str]:
    """Rows (n, 3 grid grid, ROW) of one stride, and their scores where no neighbour has a higher one or 0."""
    raw = ops.node("Reshape", raw, np.array([0, 3, ROW, grid, grid]))
    said = ops.node("Sigmoid", ops.node("Transpose", raw, perm=[0, 1, 3, 4, 2]))
    parts = ops.node("Split", said, np.array([2, 2, 1, ROW - 5]), outputs=4, axis=4)
    y, x = np.mgrid[:grid, :grid]
    corner = ((np.stack([x, y], axis=-1) - 0.5) * stride).astype(np.float32)
    centre = ops.node("Add", ops.node("Mul", parts[0], np.float32(2 * stride)), corner)
    sides = 4 * np.array(anchors, np.float32)[None, :, None, None, None]
    size = ops.node("Mul", ops.node("Mul", parts[1], parts[1]), sides)
    rows = ops.node("Concat", centre, size, parts[2], parts[3], axis=4)
    score = ops.node("Mul", parts[2], ops.node("ReduceMax", parts[3], axes=[4], keepdims=1))
    score = ops.node("Reshape", score, np.array([0, 3, grid, grid]))
    highest = ops.node("ReduceMax", score, axes=[1], keepdims=1)
    highest = ops.node("MaxPool", highest, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    peak = ops.node("Cast", ops.node("Equal", score, highest), to=TensorProto.FLOAT)
    peaks = ops.node("Reshape", ops.node("Mul", score, peak), np.array([0, -1]))
    return ops.node("Reshape", rows, np.array([0, -1, ROW])), peaks


def _image_numbers(ops: OnnxOps, best: str) -> str:
    """(n, refined, 1): the number of the image each of the best rows belongs to."""
    count = ops.node("Gather", ops.node("Shape", best), np.array(0), axis=0)
    numbers = ops.node("Range", np.array(0), count, np.array(1))
    column = ops.node("Reshape", numbers, np.array([-1, 1, 1]))
    return ops.node("Expand", column, ops.node("Shape", ops.node("Unsqueeze", best, np.array([2]))))


def _count_worth_it(ops: OnnxOps, peaks: str) -> str:
    """How many rows of the image that has most are worth refining: from 1 to REFINED."""
    worth_it = ops.node("Greater", peaks, np.float32(WORTH_REFINING))
    counts = ops.node(
        "ReduceSum", ops.node("Cast", worth_it, to=TensorProto.INT64), np.array([1]), keepdims=0
    )
    most = ops.node("ReduceMax", counts, keepdims=1)
    return ops.node("Min", ops.node("Max", most, np.array([1])), np.array([REFINED]))


def _corners(ops: OnnxOps, boxes: str) -> str:
    centre, size = ops.node("Split", boxes, np.array([2, 2]), outputs=2, axis=2)
    half = ops.node("Mul", size, np.float32(0.5))
    return ops.node("Concat", ops.node("Sub", centre, half), ops.node("Add", centre, half), axis=2)


def _refine(ops: OnnxOps, boxes: str, images: str, stage: int) -> str:
    """The boxes (n, refined, 4) with each side moved to where its strip shows it."""
    flat = ops.node("Reshape", boxes, np.array([-1, 4]))
    low, high = ops.node("Split", flat, np.array([2, 2]), outputs=2, axis=1)
    fixed, share = (np.float32(value) for value in REACH[stage])
    size = ops.node("Sub", high, low)
    reach = ops.node("Add", ops.node("Mul", size, share), fixed)
    (left, top), (right, bottom), (reach_x, reach_y) = (
        ops.node("Split", pair, np.array([1, 1]), outputs=2, axis=1) for pair in (low, high, reach)
    )
    before_x, after_x = _around(ops, left, right, np.float32(BEYOND))
    before_y, after_y = _around(ops, top, bottom, np.float32(BEYOND))
    strips = []
    for side, spread, inwards in (
        (left, reach_x, 1),
        (top, reach_y, 1),
        (right, reach_x, -1),
        (bottom, reach_y, -1),
    ):
        low_end, high_end = _around(ops, side, side, spread)
        upright = spread == reach_x
        corners = (
            (low_end, before_y, high_end, after_y) if upright else (before_x, low_end, after_x, high_end)
        )
        height, width = (ALONG[stage], ACROSS) if upright else (ACROSS, ALONG[stage])
        strip = ops.node(
            "RoiAlign",
            "TENSOR",
            ops.node("Concat", *corners, axis=1),
            images,
            output_height=height,
            output_width=width,
            sampling_ratio=1,
            coordinate_transformation_mode="half_pixel",
        )
        strip = strip if upright else ops.node("Transpose", strip, perm=[0, 1, 3, 2])
        if inwards < 0:
            strip = ops.node("Slice", strip, np.array([-1]), np.array([_LAST]), np.array([3]), np.array([-1]))
        strips.append(strip)
    offsets = side_offset(ops, ops.node("Concat", *strips, axis=0), f"refine{stage}")
    offsets = ops.node("Transpose", ops.node("Reshape", offsets, np.array([4, -1])), perm=[1, 0])
    reaches = ops.node("Concat", reach, reach, axis=1)
    inwards = ops.node("Mul", ops.node("Mul", offsets, reaches), np.array([1, 1, -1, -1], np.float32))
    return ops.node("Reshape", ops.node("Add", flat, inwards), ops.node("Shape", boxes))


def _around(ops: OnnxOps, low: str, high: str, distance: str | NDArray[Any]) -> tuple[str, str]:
    return ops.node("Sub", low, distance), ops.node("Add", high, distance)
