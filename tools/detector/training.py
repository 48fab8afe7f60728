"""Trains the networks with jax: one loop, two losses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from letterbox import MEAN, STD

from detector.network import ACROSS, ALONG, ANCHORS, CLASSES, ROW, STRIDES, Pair, heads, side_offset
from detector.strips import cut_strips
from detector.targets import assign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from detector.data import Examples

    Weights = dict[str, NDArray[np.float32]]
    Loss = Callable[..., jax.Array]

_BATCH = 8
_RARE = -5.0  # at first every row says that there is nothing


class JaxOps:
    """`Ops` on channels-last arrays; with a generator it makes the weights it is asked for."""

    def __init__(self, weights: Any, rng: np.random.Generator | None = None) -> None:  # noqa: ANN401 (a pytree)
        self.weights = weights
        self._rng = rng

    def conv(
        self,
        x: jax.Array,
        name: str,
        out: int,
        *,
        size: Pair = (3, 3),
        stride: Pair = (1, 1),
        pad: Pair = (1, 1),
    ) -> jax.Array:
        """As `Ops` says."""
        if self._rng:
            shape = (*size, x.shape[-1], out)
            last = name.startswith("head") or name.endswith("_offset")
            deviation = np.sqrt(2 / np.prod(shape[:-1])) * (0.1 if last else 1)
            self.weights[f"{name}.w"] = self._rng.normal(0, deviation, shape).astype(np.float32)
            bias = self.weights[f"{name}.b"] = np.zeros(out, np.float32)
            if name.startswith("head"):
                bias.reshape(3, ROW)[:, 4] = _RARE
        pads = [(p, p) for p in pad]
        y = jax.lax.conv_general_dilated(
            x, self.weights[f"{name}.w"], stride, pads, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return y + self.weights[f"{name}.b"]

    def relu(self, x: jax.Array) -> jax.Array:
        """As `Ops` says."""
        return jax.nn.relu(x)

    def add(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """As `Ops` says."""
        return x + y

    def double(self, x: jax.Array) -> jax.Array:
        """As `Ops` says."""
        return x.repeat(2, axis=1).repeat(2, axis=2)

    def extremes(self, x: jax.Array) -> jax.Array:
        """As `Ops` says."""
        return jnp.concatenate([x.max(axis=1, keepdims=True), x.mean(axis=1, keepdims=True)], axis=-1)


def train_heads(examples: Examples, seed: int, *, steps: int) -> Weights:
    """Weights of `heads`."""
    rng = np.random.default_rng(seed)
    side = examples.pixels.shape[1]
    ops = JaxOps({}, rng)
    heads(ops, jnp.zeros((1, 64, 64, 3)))
    targets = assign(examples.boxes, examples.classes, side=side)

    def batches() -> Iterator[tuple[NDArray[Any], ...]]:
        while True:
            order = rng.permutation(len(examples.pixels))
            for which in np.array_split(order, len(order) // _BATCH):
                yield examples.pixels[which[:_BATCH]], *targets.take(which[:_BATCH])

    return _fit(_heads_loss, ops.weights, batches(), steps=steps, name="heads")


def train_side_offset(
    examples: Examples, seed: int, *, stage: int, steps: int, errors_px: tuple[float, float]
) -> Weights:
    """Weights of `side_offset` for one refining pass."""
    rng = np.random.default_rng(seed)
    ops, name = JaxOps({}, rng), f"refine{stage}"
    side_offset(ops, jnp.zeros((1, ALONG[stage], ACROSS, 3)), name)
    data = cut_strips(examples, seed, stage=stage, errors_px=errors_px)

    def batches() -> Iterator[tuple[NDArray[Any], ...]]:
        while True:
            which = rng.integers(0, len(data[0]), 256)
            strips, offsets, reaches = (array[which] for array in data)
            yield strips[:, :: rng.choice([-1, 1])], offsets, reaches

    def loss(weights: Weights, strips: jax.Array, offsets: jax.Array, reaches: jax.Array) -> jax.Array:
        answers = side_offset(JaxOps(weights), _normalised(strips), name)[:, 0, 0, 0]
        return optax.huber_loss((answers - offsets) * reaches, delta=0.5).mean()

    return _fit(loss, ops.weights, batches(), steps=steps, name=name)


def _fit(
    loss: Loss, weights: Weights, batches: Iterator[tuple[NDArray[Any], ...]], *, steps: int, name: str
) -> Weights:
    """Adam with a warm-up and a cosine down to nothing."""
    rate = optax.warmup_cosine_decay_schedule(0, 3e-3, steps // 20, steps, 1e-5)
    optimiser = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(rate, b2=0.99))
    state = optimiser.init(weights)

    @jax.jit
    def step(weights: Weights, state: Any, *batch: jax.Array) -> tuple[Weights, Any, jax.Array]:  # noqa: ANN401 (optax's own)
        value, gradient = jax.value_and_grad(loss)(weights, *batch)
        update, state = optimiser.update(gradient, state)
        return optax.apply_updates(weights, update), state, value

    started, seen = time.monotonic(), []
    for number, batch in zip(range(1, steps + 1), batches, strict=False):
        weights, state, value = step(weights, state, *batch)
        seen.append(value)
        if number % 100 == 0 or number == steps:
            seconds = time.monotonic() - started
            print(
                f"{name}: step {number} of {steps}, loss {np.mean(seen[-100:]):.4f}, {seconds:.0f} s",
                flush=True,
            )
    return {key: np.asarray(value) for key, value in weights.items()}


def _normalised(pixels: jax.Array) -> jax.Array:
    return (pixels.astype(jnp.float32) / 255 - MEAN) / STD


def _heads_loss(weights: Weights, pixels: jax.Array, *targets: jax.Array) -> jax.Array:
    rows, boxes, classes, there, silent = targets
    raw = heads(JaxOps(weights), _normalised(pixels))
    every = [_rows(output, *level) for output, *level in zip(raw, STRIDES, ANCHORS, strict=True)]
    every_row = jnp.concatenate(every, axis=1)
    said = jnp.take_along_axis(every_row, rows[..., None], axis=1)
    objects = there.sum() + 1
    overlap, penalty = _overlap(said[..., :4], boxes)
    sides = jnp.abs(said[..., :4] - boxes).mean(axis=-1) / jnp.sqrt(
        jnp.prod(boxes[..., 2:] - boxes[..., :2], axis=-1) + 1
    )
    found = optax.sigmoid_binary_cross_entropy(said[..., 4], jax.lax.stop_gradient(overlap))
    sort = optax.sigmoid_binary_cross_entropy(said[..., 5:], jax.nn.one_hot(classes, CLASSES)).sum(axis=-1)
    noise = (silent * jax.nn.softplus(every_row[..., 4])).sum()
    return (
        there * (2 * (1 - overlap + penalty) + 10 * sides + found + sort / 2)
    ).sum() / objects + noise / objects


def _rows(raw: jax.Array, stride: int, anchors: tuple[float, ...]) -> jax.Array:
    """Corners in pixels, then the scores before the sigmoid; rows in YOLOv5's order."""
    count, height, width, _ = raw.shape
    raw = raw.reshape(count, height, width, 3, ROW).transpose(0, 3, 1, 2, 4)
    said = jax.nn.sigmoid(raw[..., :4])
    y, x = jnp.mgrid[:height, :width]
    centre = (said[..., :2] * 2 - 0.5 + jnp.stack([x, y], axis=-1)) * stride
    half = (said[..., 2:] * 2) ** 2 * jnp.array(anchors)[:, None, None, None] / 2
    return jnp.concatenate([centre - half, centre + half, raw[..., 4:]], axis=-1).reshape(count, -1, ROW)


def _overlap(said: jax.Array, true: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Intersection over union, and the share of the hull that neither box covers (as in GIoU)."""

    def area(low: jax.Array, high: jax.Array) -> jax.Array:
        return jnp.prod(jnp.maximum(high - low, 0), axis=-1)

    low, high = (said[..., :2], true[..., :2]), (said[..., 2:], true[..., 2:])
    shared = area(jnp.maximum(*low), jnp.minimum(*high))
    union = area(low[0], high[0]) + area(low[1], high[1]) - shared + 1e-6
    hull = area(jnp.minimum(*low), jnp.maximum(*high)) + 1e-6
    return shared / union, 1 - union / hull
