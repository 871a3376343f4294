"""More small programs: classes, buffers, threads, files, and other ways that values take."""

from __future__ import annotations

import csv
import ctypes
import functools
import heapq
import io
import itertools
import json
import math
import os
import pickle
import random
import shutil
import struct
import tempfile
import threading
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numba
import numpy as np

from benchmarks.workloads.foreign_programs import PROGRAMS, program

__all__ = ["PROGRAMS"]

# ways out and back


@program
def out_of_plain(a: Any, b: Any) -> Any:
    """Let numpy write into an array that was made before."""
    out = np.empty(10)
    np.multiply(a, b, out=out)
    np.add(out, 1, out)
    return out


@program
def plain_buffer_filled(a: Any, b: Any) -> Any:
    """Fill an array made from a list, cell by cell and in slices."""
    out = np.array([0.0] * 10)
    out[:5] = a[:5]
    out[5] = b[0]
    out[6:] += b[6:]
    return out * 2


@program
def plain_added_in_place(image: Any) -> Any:
    """Add to plain totals in a loop."""
    total = np.zeros(7)
    ones = np.ones(7)
    for row in image:
        total += row
        ones *= row
    return total, ones


@program
def list_then_array(a: Any) -> Any:
    """Go through Python's floats and back."""
    return np.array([float(v) * 2 for v in a])


@program
def ints_through_a_list(counts: Any) -> Any:
    """Go through ints, a dict of them, and back."""
    found: dict[int, int] = {}
    for i, row in enumerate(counts.tolist()):
        found[i] = sum(row)
    return np.array(list(found.values()))


@program
def through_a_file(image: Any) -> Any:
    """Save and load an array in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.npy"
        np.save(path, image)
        return np.load(path) + 1


@program
def through_an_archive(a: Any, b: Any) -> Any:
    """Save and load two arrays in one file."""
    file = io.BytesIO()
    np.savez(file, a=a, b=b)
    file.seek(0)
    found = np.load(file)
    return found["a"] + found["b"]


@program
def through_tofile(a: Any) -> Any:
    """Write raw bytes and read them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.bin")
        a.tofile(path)
        return np.fromfile(path) * 2


@program
def through_a_memmap(a: Any) -> Any:
    """Write into a mapped file."""
    with tempfile.TemporaryDirectory() as folder:
        mapped = np.memmap(os.path.join(folder, "a"), dtype=float, mode="w+", shape=(10,))
        mapped[:] = a
        mapped.flush()
        return np.asarray(mapped) * 2


@program
def through_csv(image: Any) -> Any:
    """Write rows as text and read them."""
    file = io.StringIO()
    csv.writer(file).writerows(image)
    file.seek(0)
    return np.array([[float(v) for v in row] for row in csv.reader(file)])


@program
def through_a_dict_writer(a: Any, b: Any) -> Any:
    """Write rows by name, and read them again."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["p", "q"])
    writer.writeheader()
    writer.writerows({"p": p, "q": q} for p, q in zip(a, b, strict=True))
    text.seek(0)
    return [float(row["p"]) * float(row["q"]) for row in csv.DictReader(text)]


@program
def through_json(a: Any) -> Any:
    """Write a record as text and read it."""
    text = json.dumps({"mean": float(a.mean()), "values": a.tolist()})
    found = json.loads(text)
    return np.array(found["values"]) - found["mean"]


@program
def through_struct(a: Any) -> Any:
    """Pack numbers into bytes and unpack them."""
    packed = struct.pack(f"{len(a)}d", *a)
    return np.array(struct.unpack(f"{len(a)}d", packed)) * 2


@program
def through_pickle(image: Any) -> Any:
    """Send an array to oneself."""
    file = io.BytesIO()
    pickle.dump({"image": image, "shape": image.shape}, file)
    file.seek(0)
    return pickle.load(file)["image"].sum(axis=0)  # noqa: S301 (it is our own)


@program
def through_a_memoryview(a: Any) -> Any:
    """Read and write through a memoryview."""
    view = memoryview(a)
    out = np.empty(5)
    for i in range(5):
        out[i] = view[2 * i]
    return out


@program
def written_through_a_memoryview(a: Any) -> Any:
    """Write into an array through its memory."""
    copied = a.copy()
    view: Any = memoryview(copied)
    view[0] = 5.0
    return copied * 2


@program
def written_through_ctypes(a: Any) -> Any:
    """Let C copy memory."""
    out = np.zeros(10)
    ctypes.memmove(out.ctypes.data, a.ctypes.data, a.nbytes)
    return out + 1


@program
def pointer_loop(a: Any) -> Any:
    """Read through a pointer."""
    pointer = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return sum(pointer[i] for i in range(len(a)))


@program
def tobytes_and_back(pixels: Any) -> Any:
    """Turn bytes around."""
    raw = bytearray(pixels.tobytes())
    raw.reverse()
    return np.frombuffer(raw, np.uint8).reshape(pixels.shape)


@program
def threads_fill(image: Any) -> Any:
    """Let threads fill rows of one array."""
    out = np.zeros_like(image)

    def work(i: int) -> None:
        out[i] = np.sort(image[i])

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(image))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return out


@program
def pool_of_threads(image: Any) -> Any:
    """Map rows over a pool of threads."""
    with ThreadPool(2) as pool:
        return np.array(pool.map(np.mean, list(image)))


@program
def executor_of_threads(X: Any, Z: Any) -> Any:
    """Submit work and collect it."""
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(np.linalg.norm, X - row, axis=1) for row in Z]
        return np.stack([job.result() for job in jobs])


@program
def iterated_pairs(a: Any, b: Any) -> Any:
    """Go through two arrays at once, and write into a third."""
    out = np.empty_like(a)
    loop: Any
    with np.nditer([a, b, out], op_flags=[["readonly"], ["readonly"], ["writeonly"]]) as loop:
        for p, q, r in loop:
            r[...] = p * q
    return out


@program
def iterated_in_place(image: Any) -> Any:
    """Change every cell through an iterator."""
    out = image.copy()
    cell: Any
    for cell in np.nditer(out, op_flags=["readwrite"]):
        cell[...] = cell * 2
    return out


@program
def flat_writes(image: Any) -> Any:
    """Write through flat."""
    out: Any = np.zeros((6, 7))
    out.flat = image[::-1]
    out.flat[3] = image[0, 0]
    out.flat[[5, 6]] = image[1, :2]
    return out


@numba.njit
def _kernel(values: Any, out: Any) -> None:
    for i in range(1, len(values)):
        out[i] = values[i] - values[i - 1]


@program
def compiled_kernel(signal1: Any) -> Any:
    """Let compiled code fill an array that was made for it."""
    out = np.zeros_like(signal1)
    _kernel(signal1, out)
    return out * 2


@program
def views_of_views(image: Any) -> Any:
    """Write into a view of a view."""
    work = image.copy()
    part = work[1:5][:, ::2]
    part[0] = 0
    part.T[1] += work[0, 0]
    return work


@program
def structured_records(a: Any, b: Any) -> Any:
    """Fill fields of records, sort them and read them."""
    table = np.zeros(10, dtype=[("key", float), ("value", float)])
    table["key"], table["value"] = a, b
    table.sort(order="key")
    return table["value"] * 2


@program
def structured_one_by_one(a: Any, b: Any) -> Any:
    """Fill records one after the other."""
    table = np.empty(3, dtype=[("key", "f8"), ("value", "f8")])
    for i in range(3):
        table[i] = (a[i], b[i])
    return table["key"] - table["value"]


@program
def object_array(a: Any, image: Any) -> Any:
    """Keep arrays in an array."""
    box = np.empty(2, dtype=object)
    box[0], box[1] = a, image
    return box[0].sum() + box[1].sum(axis=0)


@program
def masked_statistics(gaps: Any) -> Any:
    """Mask what is missing, and standardise the rest."""
    masked = np.ma.masked_invalid(gaps)
    scaled = (masked - masked.mean(axis=0)) / masked.std(axis=0)
    return scaled.filled(0.0)


@program
def dictionary_keyed_by_values(words: Any, heights: Any) -> Any:
    """Group by the values of a column."""
    groups = defaultdict(list)
    for (key, _), height in zip(words, heights, strict=True):
        groups[int(key)].append(height)
    return [sum(groups[key]) for key in sorted(groups)]


@program
def looked_up(words: Any, side: Any) -> Any:
    """Use values as indices of a list and of an array."""
    names = [1.5, 2.5, 3.5]
    return [names[i] * side[j] for i, j in words]


# arrays in classes


@dataclass
class _Layer:
    weights: Any
    bias: Any
    seen: Any = None
    steps: list[Any] = field(default_factory=list)

    def forward(self, x: Any) -> Any:
        self.seen = x
        return np.maximum(0, x @ self.weights + self.bias)

    def backward(self, error: Any) -> Any:
        mine = error * (self.seen @ self.weights + self.bias > 0)
        self.steps.append((self.seen.T @ mine, mine.sum(axis=0)))
        return mine @ self.weights.T


@program
def multilayer_perceptron(X: Any, Z: Any) -> Any:
    """Train layers that remember what they saw."""
    draw = np.random.RandomState(0)
    layers = [_Layer(draw.randn(3, 4), np.zeros(4)), _Layer(draw.randn(4, 3), np.zeros(3))]
    for _ in range(2):
        out = functools.reduce(lambda x, layer: layer.forward(x), layers, X[:5])
        error = (out - Z) / len(Z)
        for layer in reversed(layers):
            error = layer.backward(error)
            step, shift = layer.steps.pop()
            layer.weights = layer.weights - 0.1 * step
            layer.bias -= 0.1 * shift
    return layers[1].forward(layers[0].forward(Z))


@program
def residual_block(image: Any, window: Any) -> Any:
    """Convolve twice by matrices of windows, normalise, and add the input."""

    def convolve(x: Any) -> Any:
        padded = np.pad(x, 1)
        columns = np.stack(
            [
                padded[i : i + x.shape[0], j : j + x.shape[1]].ravel()
                for i in range(3)
                for j in range(3)
            ]
        )
        return (window.ravel() @ columns).reshape(x.shape)

    def normalise(x: Any) -> Any:
        return (x - x.mean()) / np.sqrt(x.var() + 1e-5)

    return np.maximum(0, normalise(convolve(np.maximum(0, normalise(convolve(image))))) + image)


@program
def attention(X: Any, window: Any) -> Any:
    """Let rows look at those before them."""
    query, key, value = X @ window, X @ window.T, X
    scores = query @ key.T / math.sqrt(key.shape[-1])
    scores = np.where(np.tril(np.ones_like(scores)) == 1, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ value


@program
def layer_norm_and_heads(X: Any) -> Any:
    """Split columns into heads and join them again."""
    x = (X - X.mean(-1, keepdims=True)) / (X.std(-1, keepdims=True) + 1e-6)
    heads = x[:, :2].reshape(12, 2, 1).transpose(1, 0, 2)
    return np.concatenate([head * (k + 1) for k, head in enumerate(heads)], axis=-1)


@program
def recurrent_cell(X: Any, window: Any) -> Any:
    """Carry a state over the rows."""
    state = np.zeros(3)
    states = []
    for row in X[:4]:
        gate = 1 / (1 + np.exp(-(row @ window)))
        state = gate * state + (1 - gate) * np.tanh(row)
        states.append(state)
    return np.vstack(states)


@program
def max_pool_by_loops(image: Any) -> Any:
    """Keep the largest of each block, and where it was."""
    out = np.zeros((3, 3))
    where = np.zeros((3, 3), dtype=int)
    for i in range(3):
        for j in range(3):
            block = image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            out[i, j] = block.max()
            where[i, j] = block.argmax()
    return out, where


@program
def dropout(X: Any) -> Any:
    """Drop at random and scale the rest."""
    draw = np.random.default_rng(2)
    mask = draw.random(X.shape) > 0.5
    return X * mask / 0.5


@program
def adam(X: Any, y: Any) -> Any:
    """Walk downhill with momentum."""
    w, m, v = np.zeros(3), np.zeros(3), np.zeros(3)
    for t in range(1, 4):
        g = 2 * X.T.dot(X.dot(w) - y) / len(y)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        w -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w


@program
def cross_entropy(X: Any, c: Any) -> Any:
    """Take the log of the chosen class's share."""
    shares = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    return -np.log(shares[np.arange(len(c)), c]).mean()


@program
def mini_batches(X: Any, y: Any) -> Any:
    """Go through shuffled batches."""
    order = np.arange(len(X))
    np.random.seed(1)  # noqa: NPY002 (programs do)
    np.random.shuffle(order)  # noqa: NPY002
    w = np.zeros(3)
    for i in range(0, len(X), 4):
        batch = order[i : i + 4]
        w += 0.01 * X[batch].T @ (y[batch] - X[batch] @ w)
    return w


@program
def k_fold_by_hand(X: Any, y: Any) -> Any:
    """Leave one part out, in turn."""
    errors = []
    for part in np.array_split(np.arange(len(X)), 3):
        rest = np.setdiff1d(np.arange(len(X)), part)
        w = np.linalg.solve(X[rest].T @ X[rest] + 0.1 * np.eye(3), X[rest].T @ y[rest])
        errors.append(np.mean((X[part] @ w - y[part]) ** 2))
    return np.mean(errors), np.std(errors)


class _Regression:
    def __init__(self) -> None:
        self.coef_: Any = None

    def fit(self, X: Any, y: Any) -> _Regression:
        X = np.asarray(X, dtype=np.float64)
        self.mean_ = X.mean(axis=0)
        self.coef_ = np.linalg.pinv(X - self.mean_).dot(np.asarray(y) - np.mean(y))
        self.intercept_ = np.mean(y) - self.mean_.dot(self.coef_)
        return self

    def predict(self, X: Any) -> Any:
        return np.dot(X, self.coef_) + self.intercept_


@program
def class_of_ones_own(X: Any, y: Any, Z: Any) -> Any:
    """Fit and predict with a class."""
    return _Regression().fit(X, y).predict(Z)


@program
def metrics_in_a_dict(truth: Any, c: Any) -> Any:
    """Count hits and misses with Python's numbers."""
    hits = sum(int(p == q) for p, q in zip(truth, c, strict=True))
    counted = Counter(zip(truth.tolist(), c.tolist(), strict=True))
    return {"accuracy": hits / len(c), "pairs": counted[0, 0]}


# images


@program
def grey_and_threshold(colours: Any) -> Any:
    """Weigh colours and cut at the mean."""
    grey = np.dot(colours[..., :3], [0.299, 0.587, 0.114])
    return np.where(grey > grey.mean(), grey, 0.0)


@program
def fourier_convolution(image: Any, window: Any) -> Any:
    """Convolve in the frequency domain."""
    size = [n + m - 1 for n, m in zip(image.shape, window.shape, strict=True)]
    product = np.fft.rfft2(image, size) * np.fft.rfft2(window, size)
    return np.fft.irfft2(product, size)[1:-1, 1:-1]


@program
def low_pass(image: Any) -> Any:
    """Cut high frequencies."""
    waves = np.fft.fftshift(np.fft.fft2(image))
    rows, cols = np.ogrid[:6, :7]
    waves[(rows - 3) ** 2 + (cols - 3) ** 2 > 4] = 0
    return np.abs(np.fft.ifft2(np.fft.ifftshift(waves)))


@program
def nearest_resize(image: Any) -> Any:
    """Choose the nearest pixel, by indices."""
    rows = (np.arange(4) * 6 / 4).astype(int)
    cols = (np.arange(5) * 7 / 5).astype(int)
    return image[rows[:, None], cols]


@program
def bilinear_resize(image: Any) -> Any:
    """Mix four pixels, with loops."""
    out = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            y, x = i * 5 / 3, j * 6 / 3
            top, left = int(y), int(x)
            bottom, right = min(top + 1, 5), min(left + 1, 6)
            dy, dx = y - top, x - left
            out[i, j] = (
                image[top, left] * (1 - dy) * (1 - dx) + image[bottom, left] * dy * (1 - dx)
                + image[top, right] * (1 - dy) * dx + image[bottom, right] * dy * dx
            )  # fmt: skip
    return out


@program
def rotate_by_indices(image: Any) -> Any:
    """Turn an image by looking up where pixels were."""
    rows, cols = np.indices(image.shape)
    y = np.round((rows - 3) * 0.8 - (cols - 3) * 0.6 + 3).astype(int)
    x = np.round((rows - 3) * 0.6 + (cols - 3) * 0.8 + 3).astype(int)
    inside = (y >= 0) & (y < 6) & (x >= 0) & (x < 7)
    out = np.zeros_like(image)
    out[inside] = image[y[inside], x[inside]]
    return out


@program
def erosion_by_shifts(blobs: Any) -> Any:
    """Shrink by logic on shifted copies."""
    padded = np.pad(blobs, 1, constant_values=False)
    out = np.ones_like(blobs)
    for i, j in itertools.product(range(3), repeat=2):
        out &= padded[i : i + 7, j : j + 8]
    return out


@program
def components_by_search(blobs: Any) -> Any:
    """Number the parts of a mask, with a queue."""
    labels, number = np.zeros(blobs.shape, int), 0
    for i, j in zip(*np.nonzero(blobs), strict=True):
        if labels[i, j]:
            continue
        number += 1
        waiting = deque([(i, j)])
        while waiting:
            p, q = waiting.popleft()
            if not (0 <= p < 7 and 0 <= q < 8) or not blobs[p, q] or labels[p, q]:
                continue
            labels[p, q] = number
            waiting.extend([(p + 1, q), (p - 1, q), (p, q + 1), (p, q - 1)])
    return labels


@program
def summed_area(image: Any) -> Any:
    """Sum a rectangle from four corners."""
    table = np.zeros((7, 8))
    for i in range(6):
        for j in range(7):
            table[i + 1, j + 1] = image[i, j] + table[i, j + 1] + table[i + 1, j] - table[i, j]
    return table[5, 6] - table[1, 6] - table[5, 2] + table[1, 2]


@program
def otsu(pixels: Any) -> Any:
    """Find where to cut by trying all places."""
    counts, _ = np.histogram(pixels, bins=21, range=(0, 252))
    best, cut = -1.0, 0
    for t in range(1, 21):
        low, high = counts[:t].sum(), counts[t:].sum()
        if low == 0 or high == 0:
            continue
        means = (
            (np.arange(t) * counts[:t]).sum() / low,
            (np.arange(t, 21) * counts[t:]).sum() / high,
        )
        spread = low * high * (means[0] - means[1]) ** 2
        if spread > best:
            best, cut = spread, t
    return cut, pixels > 12 * cut


@program
def colour_quantised(colours: Any) -> Any:
    """Give each pixel the nearest of a few colours."""
    palette = np.array([[0, 0, 0], [1, 1, 1], [0.5, 0.2, 0.8]])
    flat = colours.reshape(-1, 3)
    nearest = np.linalg.norm(flat[:, None] - palette[None], axis=-1).argmin(axis=1)
    return palette[nearest].reshape(colours.shape)


@program
def blended_with_alpha(image: Any, picture: Any) -> Any:
    """Mix two images, one of them as bytes."""
    low = (image * 255).astype(np.uint8)
    mixed = np.clip(low.astype(int) + (picture * 100).astype(int), 0, 255)
    return mixed.astype(np.uint8)


@program
def bayer_mosaic(colours: Any) -> Any:
    """Keep one colour of each pixel."""
    out = np.empty(colours.shape[:2])
    out[0::2, 0::2] = colours[0::2, 0::2, 0]
    out[0::2, 1::2] = colours[0::2, 1::2, 1]
    out[1::2, 0::2] = colours[1::2, 0::2, 1]
    out[1::2, 1::2] = colours[1::2, 1::2, 2]
    return out


# iterations


@program
def mandelbrot(complexes: Any) -> Any:
    """Count how long points stay near."""
    z = np.zeros_like(complexes)
    steps = np.zeros(complexes.shape, dtype=int)
    for _ in range(6):
        near = np.abs(z) <= 2
        z[near] = z[near] ** 2 + complexes[near]
        steps += near
    return steps, z.real


@program
def gravity(X: Any) -> Any:
    """Let bodies pull at each other."""
    place = X[:4].copy()
    speed = np.zeros_like(place)
    for _ in range(2):
        apart = place[None] - place[:, None]
        size = np.sqrt((apart**2).sum(-1) + 0.1)
        pull = (apart / size[..., None] ** 3).sum(axis=1)
        speed += 0.01 * pull
        place += 0.01 * speed
    return place, 0.5 * (speed**2).sum()


@program
def gravity_by_loops(X: Any) -> Any:
    """The same with Python's floats and loops."""
    places = X[:3].tolist()
    pulls = [[0.0] * 3 for _ in places]
    for i, j in itertools.permutations(range(3), 2):
        gap = [q - p for p, q in zip(places[i], places[j], strict=True)]
        size = math.sqrt(sum(g * g for g in gap))
        for k in range(3):
            pulls[i][k] += gap[k] / size**3
    return np.array(pulls)


@program
def lu_by_loops(spd: Any) -> Any:
    """Split a matrix into two triangles."""
    n = len(spd)
    lower, upper = np.eye(n), np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            upper[i, j] = spd[i, j] - lower[i, :i] @ upper[:i, j]
        for j in range(i + 1, n):
            lower[j, i] = (spd[j, i] - lower[j, :i] @ upper[:i, i]) / upper[i, i]
    return lower, upper


@program
def cholesky_by_loops(spd: Any) -> Any:
    """Take the root of a matrix."""
    out = np.zeros_like(spd)
    for i in range(len(spd)):
        for j in range(i + 1):
            rest = spd[i, j] - np.sum(out[i, :j] * out[j, :j])
            out[i, j] = math.sqrt(rest) if i == j else rest / out[j, j]
    return out


@program
def thomas(side: Any, kernel: Any) -> Any:
    """Solve a system with three diagonals."""
    upper, right = np.zeros(4), np.zeros(4)
    for i in range(4):
        scale = 4 + kernel[i] - (upper[i - 1] if i else 0)
        upper[i] = 1 / scale
        right[i] = (side[i] - (right[i - 1] if i else 0)) / scale
    for i in reversed(range(3)):
        right[i] -= upper[i] * right[i + 1]
    return right


@program
def secant(side: Any) -> Any:
    """Find a root of a polynomial."""
    p, q = 0.1, 0.9
    for _ in range(3):
        fp, fq = np.polyval(side, p), np.polyval(side, q)
        p, q = q, q - fq * (q - p) / (fq - fp)
    return q


@program
def runge_kutta(square: Any, side: Any) -> Any:
    """Follow a linear system."""
    path = [side]
    for _ in range(3):
        v = path[-1]
        k1 = square @ v
        k2 = square @ (v + 0.05 * k1)
        k3 = square @ (v + 0.05 * k2)
        k4 = square @ (v + 0.1 * k3)
        path.append(v + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.array(path)


@program
def wave(signal1: Any) -> Any:
    """Let a string swing."""
    before, now = signal1.copy(), signal1.copy()
    for _ in range(3):
        after = np.zeros_like(now)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


@program
def successive_over_relaxation(image: Any) -> Any:
    """Relax a grid in place, in two colours."""
    u = np.array(image, copy=True)
    for _ in range(2):
        for colour in (0, 1):
            for i in range(1, 5):
                for j in range(1 + (i + colour) % 2, 6, 2):
                    mean = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
                    u[i, j] += 1.5 * (mean - u[i, j])
    return u


@program
def metropolis(side: Any) -> Any:
    """Walk at random where a function is large."""
    draw = np.random.default_rng(4)
    place, path = 0.0, []
    for _ in range(6):
        new = place + draw.normal(scale=0.5)
        ratio = np.exp(-((new - side[0]) ** 2) + (place - side[0]) ** 2)
        if draw.random() < ratio:
            place = new
        path.append(place * side[1])
    return np.array(path)


@program
def simulated_prices(side: Any) -> Any:
    """Draw paths of prices, with a given drift and spread."""
    draw = np.random.default_rng(0)
    steps = draw.normal(side[0] * 0.01, side[1], size=(3, 5))
    paths = side[2] * np.exp(np.cumsum(steps, axis=1))
    return paths, np.maximum(paths[:, -1] - side[3], 0).mean()


@program
def queue_of_arrivals(heights: Any) -> Any:
    """Let customers wait, with a heap of times."""
    waiting: list[Any] = []
    clock, total = 0.0, 0.0
    for height in heights:
        heapq.heappush(waiting, clock + height)
        if len(waiting) > 2:
            clock = heapq.heappop(waiting)
            total += clock
    return total


@program
def genetic(X: Any) -> Any:
    """Cross and keep the best."""
    draw = np.random.default_rng(0)
    people = X[:6].copy()
    for _ in range(2):
        fitness = -(people**2).sum(axis=1)
        parents = people[np.argsort(fitness)[::-1][:3]]
        cut = draw.integers(1, 3)
        children = np.concatenate([parents[:, :cut], np.roll(parents, 1, axis=0)[:, cut:]], axis=1)
        people = np.vstack([parents, children + draw.normal(scale=0.1, size=children.shape)])
    return people


@program
def annealing(square: Any) -> Any:
    """Find a short round trip by swapping."""
    way = list(range(4))
    random.seed(1)
    cost = sum(abs(square[way[i], way[i - 1]]) for i in range(4))
    for _ in range(5):
        i, j = random.sample(range(4), 2)
        other = way.copy()
        other[i], other[j] = other[j], other[i]
        new = sum(abs(square[other[k], other[k - 1]]) for k in range(4))
        if new < cost:
            way, cost = other, new
    return way, cost


# strings, tables, puzzles


@program
def longest_common(words: Any) -> Any:
    """Find the length of the longest common subsequence."""

    @functools.cache
    def longest(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        if words[i - 1, 0] == words[j - 1, 1]:
            return longest(i - 1, j - 1) + 1
        return max(longest(i - 1, j), longest(i, j - 1))

    return longest(len(words), len(words))


@program
def knapsack(counts: Any) -> Any:
    """Fill a sack, a row of the table for each thing."""
    worth, weight = counts[:, 0], counts[:, 1] % 5 + 1
    best = np.zeros(10, int)
    for value, size in zip(worth, weight, strict=True):
        for room in range(9, int(size) - 1, -1):
            best[room] = max(best[room], best[room - size] + value)
    return best


@program
def matrix_chain(counts: Any) -> Any:
    """Find the cheapest order of products."""
    sizes = [int(n) for n in counts[0]]
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            cost[i][j] = min(
                cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            )
    return cost[0][-1]


@program
def viterbi(image: Any, square: Any) -> Any:
    """Find the likeliest path of states."""
    shares = np.abs(square) / np.abs(square).sum(axis=1, keepdims=True)
    score = np.log(image[0, :4])
    back = np.zeros((4, 4), int)
    for t in range(1, 4):
        every = score[:, None] + np.log(shares)
        back[t] = every.argmax(axis=0)
        score = every.max(axis=0) + np.log(image[t, :4])
    path = [int(score.argmax())]
    for t in range(3, 0, -1):
        path.append(int(back[t, path[-1]]))
    return path[::-1], score.max()


@program
def forward_algorithm(image: Any, square: Any) -> Any:
    """Sum over all paths of states."""
    shares = np.abs(square) / np.abs(square).sum(axis=1, keepdims=True)
    alpha = np.empty((4, 4))
    alpha[0] = image[0, :4] / 4
    for t in range(1, 4):
        for j in range(4):
            alpha[t, j] = sum(alpha[t - 1, i] * shares[i, j] for i in range(4)) * image[t, j]
    return alpha[-1].sum()


@program
def small_sudoku(counts: Any) -> Any:
    """Check rows and columns for what is used, and fill in what is left."""
    grid = counts[:4] % 4
    for i, j in np.argwhere(grid == 0):
        used = set(grid[i].tolist()) | set(grid[:, j].tolist())
        left = [n for n in range(1, 8) if n not in used]
        grid[i, j] = left[0]
    return grid


@program
def dijkstra_by_heap(square: Any) -> Any:
    """Find shortest ways with a heap."""
    cost = np.abs(square)
    found = np.full(4, np.inf)
    found[0] = 0
    waiting = [(0.0, 0)]
    while waiting:
        so_far, i = heapq.heappop(waiting)
        for j in range(4):
            new = so_far + cost[i, j]
            if new < found[j]:
                found[j] = new
                heapq.heappush(waiting, (new, j))
    return found


@program
def union_find(image: Any) -> Any:
    """Join neighbours that are alike, and count the groups."""
    parent = list(range(42))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for i in range(6):
        for j in range(6):
            if abs(image[i, j] - image[i, j + 1]) < 0.2:
                parent[root(7 * i + j)] = root(7 * i + j + 1)
    return len({root(i) for i in range(42)})


@program
def quicksort(a: Any) -> Any:
    """Sort by parts, in lists."""

    def sort(values: Any) -> Any:
        if len(values) < 2:
            return values
        first, rest = values[0], values[1:]
        return [
            *sort([v for v in rest if v < first]),
            first,
            *sort([v for v in rest if v >= first]),
        ]

    return sort(list(a))


@program
def merge_sort(a: Any) -> Any:
    """Sort halves and merge them into a new array."""
    if len(a) < 2:
        return a
    left, right = merge_sort(a[: len(a) // 2]), merge_sort(a[len(a) // 2 :])
    out, i, j = np.empty(len(a)), 0, 0
    for k in range(len(out)):
        if j == len(right) or (i < len(left) and left[i] <= right[j]):
            out[k], i = left[i], i + 1
        else:
            out[k], j = right[j], j + 1
    return out


@program
def histogram_by_dict(a: Any) -> Any:
    """Count into bins with a dict."""
    bins: dict[int, int] = {}
    for value in a:
        bins[int(value * 4)] = bins.get(int(value * 4), 0) + 1
    return bins


@program
def text_report(X: Any) -> Any:
    """Write a table as text."""
    lines = [f"{i:2d} {row.mean():8.3f} {row.std():.3f}" for i, row in enumerate(X[:3])]
    return "\n".join(lines)


@program
def points_as_tuples(X: Any) -> Any:
    """Use named tuples for points."""
    Point = namedtuple("Point", "x y z")  # noqa: PYI024 (programs do)
    points = [Point(*row) for row in X]
    middle = Point(*(sum(values) / len(points) for values in zip(*points, strict=True)))
    return max(points, key=lambda p: math.dist(p, middle)), middle


@program
def least_recently_used(words: Any, heights: Any) -> Any:
    """Keep the last few in an ordered dict."""
    cache: OrderedDict[int, Any] = OrderedDict()
    for (key, _), height in zip(words.tolist(), heights, strict=True):
        cache[key] = height
        cache.move_to_end(key)
        if len(cache) > 2:
            cache.popitem(last=False)
    return list(cache.values())


@program
def generator_pipeline(signal1: Any) -> Any:
    """Chain generators."""

    def differences(values: Any) -> Any:
        last = None
        for value in values:
            if last is not None:
                yield value - last
            last = value

    def averaged(values: Any, n: int) -> Any:
        window: deque[Any] = deque(maxlen=n)
        for value in values:
            window.append(value)
            if len(window) == n:
                yield sum(window) / n

    return np.fromiter(averaged(differences(iter(signal1)), 3), float)


@program
def closures_and_context(a: Any) -> Any:
    """Change settings for a while."""

    @contextmanager
    def scaled(values: Any, factor: Any) -> Any:
        values *= factor
        yield values
        values /= factor

    work = a.copy()
    with scaled(work, work.max()) as bigger:
        total = bigger.sum()
    return work, total


@program
def resampled_series(signal1: Any) -> Any:
    """Average neighbours, and draw lines between them."""
    means = signal1.reshape(-1, 4).mean(axis=1)
    return np.interp(np.linspace(0, 3, 7), np.arange(4), means)


@program
def lagged_regression(signal1: Any) -> Any:
    """Predict a value from the two before it."""
    lags = np.column_stack([signal1[1:-1], signal1[:-2], np.ones(14)])
    weights, *_ = np.linalg.lstsq(lags, signal1[2:], rcond=None)
    return lags @ weights


@program
def bollinger(signal1: Any) -> Any:
    """Draw bands around a moving average."""
    windows = np.lib.stride_tricks.sliding_window_view(signal1, 4)
    mean, spread = windows.mean(axis=-1), windows.std(axis=-1, ddof=1)
    return np.stack([mean - 2 * spread, mean, mean + 2 * spread])


@program
def drawdown_loop(a: Any) -> Any:
    """Follow the highest value so far."""
    peak, worst = -math.inf, 0.0
    for value in a:
        peak = max(peak, value)
        worst = max(worst, (peak - value) / peak)
    return worst


@program
def winsorised(a: Any) -> Any:
    """Pull in what is far out."""
    low, high = np.quantile(a, [0.1, 0.9])
    out = a.copy()
    out[out < low] = low
    out[out > high] = high
    return np.clip(a, low, high), out


@program
def ranks_with_ties(words: Any) -> Any:
    """Rank values, equal ones alike."""
    values = words[:, 0]
    order = values.argsort(kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(len(values))
    for value in np.unique(values):
        ranks[values == value] = ranks[values == value].mean()
    return ranks


@program
def pairwise_table(X: Any) -> Any:
    """Fill a table of distances by two loops, one half mirrored."""
    out = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in range(i):
            out[i, j] = out[j, i] = np.sqrt(np.sum((X[i] - X[j]) ** 2))
    return out


@program
def broadcast_tricks(a: Any, b: Any) -> Any:
    """Use grids, outer products and new axes."""
    p, q = np.meshgrid(a[:3], b[:4], indexing="ij")
    return np.hypot(p, q)[..., None] * np.arange(2) + np.add.outer(a[:3], b[:4])[:, :, np.newaxis]


@program
def polar(a: Any, b: Any) -> Any:
    """Turn places into angles and back."""
    radius, angle = np.hypot(a, b), np.arctan2(b, a)
    return np.column_stack((radius * np.cos(angle), radius * np.sin(angle), np.rad2deg(angle)))


@program
def copy_of_a_folder(a: Any) -> Any:
    """Save, copy and load, as text."""
    folder = tempfile.mkdtemp()
    try:
        np.savetxt(os.path.join(folder, "a.txt"), a)
        shutil.copy(os.path.join(folder, "a.txt"), os.path.join(folder, "b.txt"))
        return np.loadtxt(os.path.join(folder, "b.txt"))
    finally:
        shutil.rmtree(folder)
