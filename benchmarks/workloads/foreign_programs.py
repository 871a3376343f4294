"""Small programs of the kind that courses, notebooks and answers on the web are made of.

Each takes arrays of ``foreign_functions`` by the names of its parameters, and knows nothing of
lineage: loops, lists, assignments, Python's own numbers and functions of libraries as they come.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

PROGRAMS: list[Callable[..., Any]] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a program to the list."""
    PROGRAMS.append(function)
    return function


# linear algebra and iterations


@program
def principal_components(X: Any) -> Any:
    """Project rows onto the two directions in which they spread most."""
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred / (len(X) - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1]
    return centred @ vectors[:, order[:2]], values[order] / values.sum()


@program
def power_iteration(spd: Any) -> Any:
    """Find the largest eigenvalue and its vector."""
    vector = np.ones(len(spd))
    for _ in range(20):
        vector = spd @ vector
        vector /= np.linalg.norm(vector)
    return vector @ spd @ vector, vector


@program
def jacobi(spd: Any, side: Any) -> Any:
    """Solve a system by Jacobi's iteration."""
    diagonal = np.diag(spd)
    rest = spd - np.diagflat(diagonal)
    x = np.zeros_like(side)
    for _ in range(10):
        x = (side - rest @ x) / diagonal
    return x


@program
def gauss_seidel(spd: Any, side: Any) -> Any:
    """Solve a system row by row, with what is known of the row before."""
    x = np.zeros(len(side))
    for _ in range(5):
        for i in range(len(side)):
            total = side[i]
            for j in range(len(side)):
                if j != i:
                    total -= spd[i, j] * x[j]
            x[i] = total / spd[i, i]
    return x


@program
def gaussian_elimination(spd: Any, side: Any) -> Any:
    """Solve a system by elimination and substitution."""
    rows = np.hstack([spd, side.reshape(-1, 1)])
    n = len(rows)
    for i in range(n):
        rows[i] = rows[i] / rows[i, i]
        for j in range(i + 1, n):
            rows[j] -= rows[i] * rows[j, i]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = rows[i, -1] - sum(rows[i, j] * x[j] for j in range(i + 1, n))
    return x


@program
def gram_schmidt(matrix: Any) -> Any:
    """Make columns orthogonal, one after the other."""
    basis: list[Any] = []
    for column in matrix.T:
        rest = column - sum((np.dot(column, b) * b for b in basis), np.zeros(len(column)))
        basis.append(rest / np.linalg.norm(rest))
    return np.array(basis)


@program
def conjugate_gradient(spd: Any, side: Any) -> Any:
    """Solve a system with conjugate directions."""
    x = np.zeros_like(side)
    rest = side - spd @ x
    direction = rest.copy()
    for _ in range(3):
        along = spd @ direction
        step = (rest @ rest) / (direction @ along)
        x = x + step * direction
        new = rest - step * along
        direction = new + (new @ new) / (rest @ rest) * direction
        rest = new
    return x


@program
def page_rank(counts: Any) -> Any:
    """Rank pages by how often the others link to them."""
    links = counts[:4].astype(float)
    links /= links.sum(axis=0, keepdims=True)
    rank = np.full(4, 0.25)
    for _ in range(15):
        rank = 0.15 / 4 + 0.85 * links @ rank
    return rank


# images and grids


@program
def game_of_life(blobs: Any) -> Any:
    """Go on by two generations on a torus."""
    grid = blobs.astype(int)
    for _ in range(2):
        around = sum(
            np.roll(np.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        grid = ((around == 3) | ((grid == 1) & (around == 2))).astype(int)
    return grid


@program
def convolution_by_loops(image: Any, window: Any) -> Any:
    """Convolve with four loops."""
    height, width = image.shape
    out = np.zeros((height - 2, width - 2))
    for i in range(height - 2):
        for j in range(width - 2):
            total = 0.0
            for k in range(3):
                for m in range(3):
                    total += image[i + k, j + m] * window[2 - k, 2 - m]
            out[i, j] = total
    return out


@program
def convolution_by_windows(image: Any, window: Any) -> Any:
    """Convolve by looking at all windows at once."""
    return np.einsum("ijkl,kl->ij", sliding_window_view(image, (3, 3)), window[::-1, ::-1])


@program
def sobel_by_slices(image: Any) -> Any:
    """Find edges from shifted slices."""
    down = image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]
    up = image[:-2, :-2] + 2 * image[:-2, 1:-1] + image[:-2, 2:]
    right = image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]
    left = image[:-2, :-2] + 2 * image[1:-1, :-2] + image[2:, :-2]
    return np.hypot(down - up, right - left)


@program
def image_pyramid(image: Any) -> Any:
    """Halve an image until nothing is left."""
    levels = [image]
    while min(levels[-1].shape) > 2:
        last = levels[-1]
        last = last[: last.shape[0] // 2 * 2, : last.shape[1] // 2 * 2]
        levels.append((last[::2, ::2] + last[1::2, ::2] + last[::2, 1::2] + last[1::2, 1::2]) / 4)
    return levels


@program
def equalise_histogram(pixels: Any) -> Any:
    """Spread grey values evenly, by a look-up table."""
    counts = np.zeros(256, int)
    for value in pixels.flatten():
        counts[value] += 1
    total = counts.cumsum()
    table = ((total - total.min()) * 255 / (total.max() - total.min())).astype("uint8")
    return table[pixels]


@program
def diffusion(image: Any) -> Any:
    """Let heat flow for a few steps."""
    heat = image.copy()
    for _ in range(3):
        new = heat.copy()
        new[1:-1, 1:-1] += 0.1 * (
            heat[2:, 1:-1] + heat[:-2, 1:-1] + heat[1:-1, 2:] + heat[1:-1, :-2]
            - 4 * heat[1:-1, 1:-1]
        )  # fmt: skip
        heat = new
    return heat


@program
def flood(image: Any) -> Any:
    """Fill from a corner over all neighbours that are dark enough."""
    seen = np.zeros(image.shape, bool)
    total, waiting = 0.0, [(0, 0)]
    while waiting:
        i, j = waiting.pop()
        if seen[i, j]:
            continue
        seen[i, j] = True
        total += image[i, j]
        for k, m in ((i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1)):
            if 0 <= k < image.shape[0] and 0 <= m < image.shape[1] and image[k, m] < 0.6:
                waiting.append((k, m))
    return total


@program
def grey_to_ascii(image: Any) -> Any:
    """Draw an image with characters."""
    return ["".join(" .:#"[int(value * 4)] for value in row) for row in image]


@program
def dither(image: Any) -> Any:
    """Make an image black and white, and hand on what is lost."""
    out = image.copy()
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            old = out[i, j]
            out[i, j] = round(old)
            error = old - out[i, j]
            if j + 1 < out.shape[1]:
                out[i, j + 1] += error * 0.5
            if i + 1 < out.shape[0]:
                out[i + 1, j] += error * 0.5
    return out


@program
def median_by_lists(image: Any) -> Any:
    """Take the median of each cell's neighbours, with sorted lists."""
    out = image.copy()
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            around = [image[i + k, j + m] for k in (-1, 0, 1) for m in (-1, 0, 1)]
            out[i, j] = sorted(around)[4]
    return out


# learning


@program
def k_means(X: Any) -> Any:
    """Find two centres."""
    centres = X[[0, -1]]
    labels = np.zeros(len(X), int)
    for _ in range(4):
        distances = np.sqrt(((X[:, None] - centres[None]) ** 2).sum(axis=2))
        labels = distances.argmin(axis=1)
        centres = np.array([X[labels == k].mean(axis=0) for k in range(2)])
    return centres, labels


@program
def nearest_neighbours(X: Any, c: Any, Z: Any) -> Any:
    """Let the three nearest rows vote."""
    found = []
    for row in Z:
        distances = [np.linalg.norm(row - other) for other in X]
        votes = [c[i] for i in np.argsort(distances)[:3]]
        found.append(max(set(votes), key=votes.count))
    return np.array(found)


@program
def gradient_descent(X: Any, y: Any) -> Any:
    """Fit a line by walking downhill."""
    weights, bias = np.zeros(X.shape[1]), 0.0
    for _ in range(20):
        error = X @ weights + bias - y
        weights -= 0.05 * X.T @ error / len(y)
        bias -= 0.05 * error.mean()
    return weights, bias


@program
def softmax_regression(X: Any, c: Any) -> Any:
    """Learn three classes by gradient descent."""
    wanted = np.eye(3)[c]
    weights = np.zeros((X.shape[1], 3))
    for _ in range(10):
        scores = X @ weights
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        weights -= 0.1 * X.T @ (likely - wanted) / len(X)
    return weights


@program
def one_hot(c: Any) -> Any:
    """Write a one where the class is."""
    out = np.zeros((len(c), c.max() + 1))
    out[np.arange(len(c)), c] = 1
    return out


@program
def confusion_by_loop(truth: Any, c: Any) -> Any:
    """Count which class was taken for which."""
    found = np.zeros((3, 3), int)
    for wanted, got in zip(truth, c, strict=True):
        found[wanted, got] += 1
    return found


@program
def two_layers(X: Any, y: Any) -> Any:
    """Train a network of two layers for a few steps."""
    draw = np.random.default_rng(0)
    first, second = draw.normal(size=(3, 4)), draw.normal(size=4)
    for _ in range(3):
        hidden = np.maximum(0, X @ first)
        error = hidden @ second - y
        step = np.outer(error, second) * (hidden > 0)
        second = second - 0.01 * hidden.T @ error
        first = first - 0.01 * X.T @ step
    return np.maximum(0, X @ first) @ second


@program
def naive_bayes(X: Any, c: Any, Z: Any) -> Any:
    """Compare rows with the mean and spread of each class."""
    scores = []
    for k in np.unique(c):
        mine = X[c == k]
        mean, spread = mine.mean(axis=0), mine.var(axis=0)
        scores.append((-((Z - mean) ** 2) / (2 * spread) - np.log(spread) / 2).sum(axis=1))
    return np.column_stack(scores)


@program
def split_and_score(X: Any, y: Any) -> Any:
    """Fit on some rows and compare on the others."""
    order = np.random.default_rng(1).permutation(len(X))
    train, test = order[:8], order[8:]
    weights, *_ = np.linalg.lstsq(np.c_[np.ones(8), X[train]], y[train], rcond=None)
    wrong = np.c_[np.ones(4), X[test]] @ weights - y[test]
    return {"rmse": float(np.sqrt((wrong**2).mean())), "weights": weights}


@program
def decision_stump(X: Any, y: Any) -> Any:
    """Find where to split, then the mean on both sides."""
    best = None
    for column in range(X.shape[1]):
        for at in X[:, column]:
            left, right = y[X[:, column] <= at], y[X[:, column] > at]
            if len(left) and len(right):
                loss = left.var() * len(left) + right.var() * len(right)
                if best is None or loss < best[0]:
                    best = loss, at, left.mean(), right.mean()
    return best


# series and tables


@program
def moving_average_of_lists(signal1: Any) -> Any:
    """Average a window, with Python's lists and sums."""
    values = list(signal1)
    return [sum(values[i : i + 3]) / 3 for i in range(len(values) - 2)]


@program
def moving_average_by_cumsum(signal1: Any) -> Any:
    """Average a window, with a running sum."""
    total = np.cumsum(np.insert(signal1, 0, 0))
    return (total[4:] - total[:-4]) / 4


@program
def rolling_z_score(signal1: Any) -> Any:
    """Compare each value with those before it."""
    out = np.full(len(signal1), np.nan)
    for i in range(4, len(signal1)):
        before = signal1[i - 4 : i]
        out[i] = (signal1[i] - before.mean()) / before.std()
    return out


@program
def exponential_smoothing(signal1: Any) -> Any:
    """Smooth a series, starting from its first value."""
    level = [signal1[0]]
    for value in signal1[1:]:
        level.append(0.3 * value + 0.7 * level[-1])
    return np.array(level)


@program
def kalman(signal1: Any) -> Any:
    """Follow a level through noise."""
    estimate, error = signal1[0], 1.0
    found = []
    for value in signal1:
        error += 0.01
        gain = error / (error + 0.1)
        estimate = estimate + gain * (value - estimate)
        error *= 1 - gain
        found.append(estimate)
    return np.asarray(found)


@program
def cumulative_returns(a: Any) -> Any:
    """Turn prices into returns, their product, and the deepest fall."""
    returns = a[1:] / a[:-1] - 1
    growth = np.cumprod(1 + returns)
    peak = np.maximum.accumulate(growth)
    return growth, ((growth - peak) / peak).min(), returns.std() * np.sqrt(252)


@program
def autocorrelation(signal1: Any) -> Any:
    """Correlate a series with itself, later."""
    centred = signal1 - np.mean(signal1)
    variance = np.sum(centred**2)
    return (
        np.array([np.sum(centred[k:] * centred[: len(centred) - k]) for k in range(5)]) / variance
    )


@program
def run_lengths(words: Any) -> Any:
    """Say how often each value follows itself."""
    values, found = words[:, 0], []
    start = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[start]:
            found.append((values[start], i - start))
            start = i
    return found


@program
def normalise_by_list(X: Any) -> Any:
    """Divide columns by their means, which are in a list of Python's numbers."""
    means = [float(X[:, j].mean()) for j in range(X.shape[1])]
    return X / means


@program
def standardise_by_name(X: Any) -> Any:
    """Describe the columns in a dict, and use it."""
    found = {f"c{j}": {"mean": X[:, j].mean(), "std": X[:, j].std()} for j in range(X.shape[1])}
    return np.column_stack(
        [(X[:, j] - found[f"c{j}"]["mean"]) / found[f"c{j}"]["std"] for j in range(X.shape[1])]
    )


@program
def group_means(c: Any, y: Any) -> Any:
    """Gather values by class in a dict of lists."""
    groups: dict[int, list[Any]] = {}
    for key, value in zip(c.tolist(), y, strict=True):
        groups.setdefault(key, []).append(value)
    return {key: np.mean(values) for key, values in groups.items()}


@program
def pivot(words: Any, heights: Any) -> Any:
    """Sum values into the cells that two keys name."""
    out = np.zeros((3, 3))
    np.add.at(out, (words[:, 0], words[:, 1]), heights)
    return out


@program
def outliers(a: Any) -> Any:
    """Keep what is near the middle half."""
    low, high = np.percentile(a, [25, 75])
    reach = 0.5 * (high - low)
    return a[(a > low - reach) & (a < high + reach)]


@program
def filled_gaps(gaps: Any) -> Any:
    """Put the column's mean where a value is missing."""
    out = gaps.copy()
    for j in range(out.shape[1]):
        column = out[:, j]
        column[np.isnan(column)] = np.nanmean(column)
    return out


# dynamic programming and graphs


@program
def edit_distance(words: Any) -> Any:
    """Count the edits from one column to the other."""
    one, other = words[:, 0], words[:, 1]
    cost = np.zeros((len(one) + 1, len(other) + 1), int)
    cost[:, 0], cost[0] = np.arange(len(one) + 1), np.arange(len(other) + 1)
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            swap = cost[i - 1, j - 1] + int(one[i - 1] != other[j - 1])
            cost[i, j] = min(swap, cost[i - 1, j] + 1, cost[i, j - 1] + 1)
    return cost[-1, -1]


@program
def time_warping(heights: Any, places: Any) -> Any:
    """Warp one series onto another."""
    cost = np.full((len(heights) + 1, len(places) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(len(heights)):
        for j in range(len(places)):
            step = abs(heights[i] - places[j])
            cost[i + 1, j + 1] = step + min(cost[i, j + 1], cost[i + 1, j], cost[i, j])
    return cost[-1, -1]


@program
def shortest_paths(square: Any) -> Any:
    """Floyd and Warshall, over every place in between."""
    distance = np.abs(square)
    np.fill_diagonal(distance, 0)
    for k in range(len(distance)):
        distance = np.minimum(distance, distance[:, k, None] + distance[None, k])
    return distance


@program
def cheapest_way(image: Any) -> Any:
    """Carve the cheapest way from top to bottom."""
    cost = image.copy()
    for i in range(1, len(cost)):
        for j in range(cost.shape[1]):
            cost[i, j] += cost[i - 1, max(j - 1, 0) : j + 2].min()
    return cost, int(cost[-1].argmin())


@program
def largest_run(signal1: Any) -> Any:
    """Find the largest sum of neighbours, as Kadane does."""
    best = here = signal1[0]
    for value in signal1[1:]:
        here = max(value, here + value)
        best = max(best, here)
    return best


@program
def bubble_sort(a: Any) -> Any:
    """Sort by swapping neighbours."""
    out = a.copy()
    for i in range(len(out)):
        for j in range(len(out) - 1 - i):
            if out[j] > out[j + 1]:
                out[j], out[j + 1] = out[j + 1], out[j]
    return out


# chance


@program
def bootstrap(a: Any) -> Any:
    """Draw samples with replacement, and take their means."""
    draw = np.random.default_rng(3)
    means = [draw.choice(a, size=len(a)).mean() for _ in range(8)]
    return np.percentile(means, [10, 90]), np.std(means)


@program
def weighted_points(a: Any, b: Any) -> Any:
    """Average a function at random places, with given weights."""
    places = np.random.default_rng(5).uniform(size=(20, 1))
    return (np.exp(-((places - a) ** 2)) * b).sum() / 20


@program
def bayesian_update(a: Any, b: Any) -> Any:
    """Turn a prior and likelihoods into a posterior, twice."""
    belief = a / a.sum()
    for _ in range(2):
        belief = belief * b
        belief = belief / belief.sum()
    return belief, float(belief.max())


@program
def markov_chain(counts: Any) -> Any:
    """Make transitions of counts, and go ten steps."""
    moves = counts[:4] / counts[:4].sum(axis=1, keepdims=True)
    state = np.array([1.0, 0, 0, 0])
    for _ in range(10):
        state = state @ moves
    return state


@program
def random_walk(signal1: Any) -> Any:
    """Walk up or down, as the signal's sign says."""
    where, path = 0, []
    for value in signal1:
        where += 1 if value > 0 else -1
        path.append(where)
    return np.array(path)


@program
def shuffled_batches(X: Any) -> Any:
    """Shuffle rows and take the mean of each batch."""
    draw = np.random.default_rng(0)
    rows = X.copy()
    draw.shuffle(rows)
    return np.stack([batch.mean(axis=0) for batch in np.split(rows, 4)])


# numbers by hand


@program
def newton_roots(a: Any) -> Any:
    """Take square roots, one by one."""
    found = []
    for value in a:
        guess = 1.0
        for _ in range(4):
            guess = (guess + value / guess) / 2
        found.append(guess)
    return found


@program
def haversine(a: Any, b: Any) -> Any:
    """Measure the way between places on the globe, with math's functions."""
    total = 0.0
    for i in range(1, len(a)):
        lift, turn = math.radians(a[i] - a[i - 1]), math.radians(b[i] - b[i - 1])
        h = math.sin(lift / 2) ** 2 + math.cos(a[i - 1]) * math.cos(a[i]) * math.sin(turn / 2) ** 2
        total += 2 * 6371 * math.asin(math.sqrt(h))
    return total


@program
def summary(a: Any) -> Any:
    """Describe numbers as Python does."""
    values = [float(value) for value in a]
    return {
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "largest": max(values),
        "text": f"{min(values):.3f}",
    }


@program
def trapezoids(times: Any, heights: Any) -> Any:
    """Integrate by a loop over pairs of points."""
    area = 0.0
    for i in range(len(times) - 1):
        area += (times[i + 1] - times[i]) * (heights[i] + heights[i + 1]) / 2
    return area


@program
def horner(side: Any, a: Any) -> Any:
    """Evaluate a polynomial."""
    total = np.zeros_like(a)
    for coefficient in side:
        total = total * a + coefficient
    return total


@program
def discrete_fourier(signal1: Any) -> Any:
    """Transform by the matrix of all waves."""
    n = np.arange(len(signal1))
    return np.exp(-2j * np.pi * n * n[:, None] / len(signal1)) @ signal1


@program
def lagrange(times: Any, heights: Any, places: Any) -> Any:
    """Interpolate with a product for each point."""
    total = np.zeros(len(places))
    for i in range(3):
        term = heights[i]
        for j in range(3):
            if i != j:
                term = term * (places - times[j]) / (times[i] - times[j])
        total += term
    return total


@program
def euler_steps(side: Any) -> Any:
    """Let four bodies spring back, in small steps."""
    place, speed = side.copy(), np.zeros(len(side))
    path = np.empty((5, len(side)))
    for step in range(5):
        speed = speed - 0.1 * place
        place += 0.1 * speed
        path[step] = place
    return path
