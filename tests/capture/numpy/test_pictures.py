"""Pictures: drawing is no leak, and what a program reads back from one is."""

import sys

import numpy as np
import pytest

import dslog

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

A = np.random.default_rng(0).permutation(12) * 0.37 + 1.25
from matplotlib.pyplot import hist  # noqa: E402

DRAWN = {
    "hist counts": lambda x: plt.hist(x)[0].max(),
    "hist bins": lambda x: plt.hist(x, 3)[1][1],
    "hist of an axes": lambda x: plt.gca().hist(x)[1][0],
    "hist patches": lambda x: plt.hist(x)[2][0].get_height(),
    "hist2d": lambda x: plt.hist2d(x, x)[1][0],
    "hexbin": lambda x: plt.hexbin(x, x, gridsize=3).get_array()[0],
    "boxplot": lambda x: plt.boxplot(x)["medians"][0].get_ydata()[0],
    "violinplot": lambda x: plt.violinplot(x)["bodies"][0].get_paths()[0].vertices[0, 0],
    "psd": lambda x: plt.psd(x, NFFT=4)[0][0],
    "specgram": lambda x: plt.specgram(x, NFFT=4, noverlap=1)[0][0, 0],
    "acorr": lambda x: plt.acorr(x, maxlags=2)[1][0],
    "get_data": lambda x: plt.plot(x)[0].get_data()[1][2],
    "get_ydata": lambda x: plt.plot(np.arange(12), x)[0].get_ydata()[2],
    "lines": lambda x: (plt.plot(x), plt.gca().lines[0].get_xydata()[2, 1])[1],
    "get_array": lambda x: plt.imshow(x.reshape(3, 4)).get_array()[1, 2],
    "get_clim": lambda x: plt.imshow(x.reshape(3, 4)).get_clim()[1],
    "norm": lambda x: plt.imshow(x.reshape(3, 4)).norm.vmax,
    "offsets": lambda x: plt.scatter(x, x).get_offsets()[1, 0],
    "sizes": lambda x: plt.scatter(range(12), range(12), s=x).get_sizes()[1],
    "get_xlim": lambda x: (plt.scatter(x, x), plt.xlim())[1][1],
    "get_ylim of an axes": lambda x: (plt.plot(x), plt.gca().get_ylim())[1][1],
    "dataLim": lambda x: (plt.plot(x), plt.gca().dataLim.ymax)[1],
    "viewLim": lambda x: (plt.plot(x), plt.gca().viewLim.bounds)[1][3],
    "bars": lambda x: plt.bar(range(12), x)[2].get_height(),
    "bar box": lambda x: plt.bar(range(12), x).patches[2].get_bbox().y1,
    "fill": lambda x: plt.fill_between(range(12), x).get_paths()[0].vertices[3, 1],
    "errorbar": lambda x: plt.errorbar(range(12), x, yerr=0.1)[0].get_ydata()[3],
    "stem": lambda x: plt.stem(x).markerline.get_ydata()[3],
    "stairs": lambda x: plt.stairs(x).get_data().values[3],
    "contour": lambda x: plt.contour(x.reshape(3, 4)).get_array()[0],
    "datavalues": lambda x: plt.bar(range(12), x).datavalues[2],
    "levels": lambda x: plt.contour(x.reshape(3, 4)).levels[1],
    "quiver": lambda x: plt.quiver(x, x).U[2],
    "getp": lambda x: plt.getp(plt.plot(x)[0], "ydata")[2],
    "title": lambda x: float(plt.title(f"{x[2]}").get_text()),
    "xlabel": lambda x: (plt.xlabel(f"{x[2]}"), float(plt.gca().get_xlabel()))[1],
    "legend": lambda x: float(
        (plt.plot([1], label=f"{x[2]}"), plt.gca().get_legend_handles_labels()[1][0])[1]
    ),
    "annotation": lambda x: float(plt.annotate(str(x[2]), (0, 0)).get_text()),
    "vertical line": lambda x: plt.axvline(x[2]).get_xdata()[0],
}


def shown(x):
    figure, axes = plt.subplots(2, 2)
    first, last = axes[0, 0], axes[1, 1]
    first.plot(x, label=f"mean {x.mean():.2f}")
    first.legend()
    axes[0, 1].hist(x)
    axes[1, 0].imshow(x.reshape(3, 4))
    last.scatter(x, x, c=x)
    last.set_title(f"of {x[2]}")
    last.set_xlabel("x")
    plt.hist(x, bins=4)
    plt.boxplot(x)
    lines = plt.plot(x, "r-", x * 2, "b")
    bars = plt.bar(range(12), x)
    plt.colorbar(axes[1, 0].images[0])
    plt.tight_layout()
    figure.canvas.draw()
    plt.show()
    return lines, bars


@pytest.fixture(autouse=True)
def figure():
    plt.figure()
    yield
    plt.close("all")


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_read_from_a_picture_may_miss_cells(name):
    with dslog.open(":memory:", leaks="ignore") as store:
        x, y = store.track(A.copy(), "x"), store.track(A * 2, "y")
        number = DRAWN[name](x)
        plt.close("all")
        assert dslog.plain(number) == DRAWN[name](A.copy())
        (y * number).named("z")
        answer = store.backward("z", [(0,)], "x")
        assert not answer.exact or answer.count
        if not answer.count:
            assert not answer.complete
            lost = [leak for leak in store.leaks() if leak.loses]
            assert {leak.file for leak in lost} == {__file__}


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_drawing_is_no_leak():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        shown(x)
        assert store.backward((x * 2).name, [(0,)], "x").exact
        assert not any(leak.loses for leak in store.leaks())


def test_pictures_of_other_values_give_them_back():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        counts, bins, _ = plt.hist(A)
        low, high = plt.xlim()
        y = (x * counts[0] + bins[0] + low + high).named("y")
        assert store.backward(y.name, [(0,)], "x").exact


def test_a_picture_may_be_drawn_while_its_array_is_written():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        n = np.zeros(12)
        plt.plot(n)
        image = plt.imshow(n.reshape(3, 4))
        n[:] = x
        image.set_data(n.reshape(3, 4))
        x += 1
        assert store.backward((n * 2).name, [(3,)], "x").exact


def test_what_was_drawn_in_a_block_is_remembered():
    with dslog.open(":memory:", leaks="ignore") as store:
        x, y = store.track(A.copy(), "x"), store.track(A * 2, "y")
        with dslog.operation("block", store) as block:
            twice = x * 2
            plt.plot(np.arange(12), twice)
            block.keep(twice.sum())
        number = float(plt.gca().get_ylim()[1])
        assert not store.backward((y * number).name, [(0,)], "x").complete


def test_names_that_were_imported_before_the_store():
    names = dict(vars(sys.modules[__name__]))
    with dslog.open(":memory:", leaks="ignore") as store:
        x, y = store.track(A.copy(), "x"), store.track(A * 2, "y")
        counts, _, _ = hist(x)
        assert not store.backward((y * counts[0]).name, [(0,)], "x").complete
    assert vars(sys.modules[__name__]) == names


def test_matplotlib_is_as_it_was():
    before = plt.hist, matplotlib.axes.Axes.hist, vars(matplotlib.lines.Line2D)["get_data"]
    with dslog.open(":memory:") as store:
        store.track(A.copy(), "x")
        assert plt.hist is not before[0]
        assert plt.hist.__wrapped__ is before[0]
    now = plt.hist, matplotlib.axes.Axes.hist, vars(matplotlib.lines.Line2D)["get_data"]
    assert now == before
