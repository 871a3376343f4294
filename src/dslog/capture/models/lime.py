"""LIME: a linear model of what a model does near one input.

The input is cut into segments. Samples leave segments out at random; a linear model, fitted to what
the model says of them, with samples that are more like the input counting more, gives each segment
its weight (Ribeiro, Singh, Guestrin: "Why should I trust you?", KDD 2016). The fit is weighted
ridge regression in closed form, for all outputs of the model at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.capture_cost import CaptureCost
from dslog.capture.models.attribution import Attribution, check_samples, chunks, read_input
from dslog.errors import CaptureError
from dslog.types import I64, Floats

Model = Callable[[npt.NDArray[Any]], Any]

_KERNEL_WIDTH = 0.25  # of the weight that a sample gets by its likeness
_RIDGE = 1.0


def lime(
    model: Model,
    x: Any,
    *,
    segments: int | npt.ArrayLike | None = None,
    outputs: Sequence[int] | None = None,
    samples: int = 1000,
    seed: int = 0,
    fill: float | npt.ArrayLike | None = None,
    batch: int = 100,
) -> Attribution:
    """Estimate what each cell of ``x`` contributes to the outputs of a model.

    ``model`` takes a batch (n, *x.shape) and gives scores (n,) or (n, k), such as the probabilities
    of k classes. ``segments`` is an integer array over the first axes of ``x`` that numbers them,
    or about how many an image is to be cut into (this needs scikit-image); without it, few cells
    are a segment each, and a larger image is cut into about 100. ``outputs`` are those to explain,
    by default all. ``fill`` is what stands in a segment that is left out, by default the mean of
    ``x`` per colour.
    """
    values = read_input(x, 1)
    check_samples(samples)
    cut = _read_segments(segments, values)
    chosen = np.random.default_rng(seed).random((samples, int(cut.max()) + 1)) < 0.5
    chosen[0] = True  # the input itself
    hidden = _read_fill(fill, values)
    scores = _ask(model, values, cut, chosen, hidden, batch)
    wanted = _read_outputs(outputs, scores, cut.size)
    columns = scores if scores.ndim == 2 else scores[:, None]
    weights = fit(chosen, columns[:, list(wanted)])
    return Attribution(
        method="lime",
        contributions=np.moveaxis(weights[cut], -1, 0),
        outputs=wanted,
        out_shape=scores.shape[1:],
        in_shape=values.shape,
        samples=samples,
        seed=seed,
        settings={"segments": chosen.shape[1]},
    )


def fit(chosen: npt.NDArray[np.bool_], scores: Floats) -> Floats:
    """Fit scores (n, k) by the chosen segments (n, s) and return the weights (s, k)."""
    features = chosen.astype(np.float64)
    distance = 1 - np.sqrt(features.mean(axis=1))  # the cosine distance from the whole input
    nearness = np.sqrt(np.exp(-((distance / _KERNEL_WIDTH) ** 2)))[:, None]
    total = nearness.sum()
    features = features - (nearness * features).sum(axis=0) / total
    scores = scores - (nearness * scores).sum(axis=0) / total
    weighted = (nearness * features).T
    weights: Floats = np.linalg.solve(
        weighted @ features + _RIDGE * np.eye(features.shape[1]), weighted @ scores
    )
    return weights


def _ask(
    model: Model,
    values: npt.NDArray[Any],
    cut: I64,
    chosen: npt.NDArray[np.bool_],
    hidden: npt.NDArray[Any],
    batch: int,
) -> Floats:
    """Return the model's scores of every sample."""
    extra = (1,) * (values.ndim - cut.ndim)
    found = []
    for part in chunks(len(chosen), max(batch, 1)):
        shown = chosen[part][:, cut].reshape(-1, *cut.shape, *extra)
        scores = np.asarray(model(np.where(shown, values, hidden)), dtype=np.float64)
        if scores.ndim not in (1, 2) or len(scores) != len(shown):
            raise CaptureError(
                f"the model gave scores of shape {scores.shape} for a batch of {len(shown)}: it "
                f"must give ({len(shown)},) or ({len(shown)}, k)"
            )
        if not np.isfinite(scores).all():
            raise CaptureError("the model gave scores that are NaN or infinite")
        found.append(scores)
    return np.concatenate(found)


def _read_segments(segments: int | npt.ArrayLike | None, values: npt.NDArray[Any]) -> I64:
    """Return the number of each cell's segment, over the first axes."""
    image = values.shape[:2]
    if segments is None and int(np.prod(image)) <= CaptureCost.current().uncut_cells:
        return np.arange(int(np.prod(image)), dtype=np.int64).reshape(image)
    if segments is None or isinstance(segments, int):
        return _cut(values, 100 if segments is None else segments)
    given = np.asarray(segments)
    if given.dtype.kind not in "iu" or given.shape != values.shape[: given.ndim] or not given.size:
        raise CaptureError(
            f"segments of shape {given.shape} and type {given.dtype} don't fit an input of shape "
            f"{values.shape}: number the cells of its first axes with integers"
        )
    return np.unique(given, return_inverse=True)[1].reshape(given.shape).astype(np.int64)


def _cut(values: npt.NDArray[Any], count: int) -> I64:
    try:
        from skimage.segmentation import slic  # noqa: PLC0415
    except ImportError as error:
        raise CaptureError(
            "scikit-image is not here to cut the image into segments: "
            "pip install 'dslog[explain]', or number them yourself, segments=an integer array"
        ) from error
    if values.ndim not in (2, 3) or count < 1:
        raise CaptureError(
            f"an array of shape {values.shape} can't be cut into {count} segments: give "
            f"segments as an integer array over its first axes"
        )
    channel = -1 if values.ndim == 3 else None
    found = slic(
        values, n_segments=count, start_label=0, channel_axis=channel, enforce_connectivity=True
    )
    return np.asarray(found, dtype=np.int64)


def _read_fill(fill: float | npt.ArrayLike | None, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    hidden = values.mean(axis=tuple(range(min(values.ndim, 2)))) if fill is None else fill
    try:
        return np.broadcast_to(np.asarray(hidden).astype(values.dtype), values.shape)
    except ValueError as error:
        raise CaptureError(
            f"fill of shape {np.shape(hidden)} does not fit an input of shape {values.shape}"
        ) from error


def _read_outputs(outputs: Sequence[int] | None, scores: Floats, cells: int) -> tuple[int, ...]:
    count = 1 if scores.ndim == 1 else scores.shape[1]
    wanted = tuple(range(count)) if outputs is None else tuple(int(one) for one in outputs)
    if not wanted or not all(0 <= one < count for one in wanted):
        raise CaptureError(f"outputs={outputs} are not outputs of a model with {count} of them")
    if len(wanted) * cells > CaptureCost.current().most_contributions:
        raise CaptureError(
            f"{len(wanted)} maps of {cells:,} cells are too many: choose some, such as outputs=[0]"
        )
    return wanted
