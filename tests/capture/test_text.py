"""Texts of tracked values: those that can be read again are leaks, those only looked at are not."""
# ruff: noqa: T201, T203

import builtins
import collections
import contextlib
import dataclasses
import fractions
import functools
import io
import itertools
import logging
import pprint
import re
import reprlib
import string
import subprocess
import sys
import textwrap
import traceback
import warnings

import numpy as np
import pytest

import dslog

A = np.arange(6.0) + 1.25
LOG = logging.getLogger("test.text")


class Collector:
    """What keeps every text it gets by an operator."""

    def __init__(self):
        self.texts = []

    def __lshift__(self, text):
        self.texts.append(text)
        return self

    __radd__ = __mod__ = __add__ = __getitem__ = __call__ = __lshift__
    write = info = print = __lshift__

    def __format__(self, text):
        self.texts.append(text)
        return ""

    def flush(self):
        pass


class Letters:
    def __init__(self, keeper):
        self.keeper = keeper

    def __getitem__(self, number):
        self.keeper.texts[:] = ["".join([*self.keeper.texts, chr(number)])]
        return number


class Keeping(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


class KeepingStream(logging.StreamHandler):
    emit = Keeping.emit


def printed(run):
    """What goes to a file in memory."""

    def through(x):
        file = io.StringIO()
        run(x, file)
        return file.getvalue()

    return through


def redirected(x, file):
    with contextlib.redirect_stdout(file):
        print(x[2])


def replaced(x, file):
    sys.stdout, old = file, sys.stdout
    try:
        print(f"{x[2]}")
    finally:
        sys.stdout = old


def logged(handler, how=lambda x: LOG.error("%s", x[2])):
    def through(x):
        LOG.handlers, LOG.propagate = [handler], False
        try:
            how(x)
        finally:
            LOG.handlers, LOG.propagate = [], True
        return handler.texts[-1]

    handler.texts = []
    return through


def of_function(name):
    """A function of the program's own that has the name of one that shows."""

    def run(x):
        def keep(text, kept=[]):  # noqa: B006
            kept.append(text)
            return kept[-1]

        return eval(f"{name}(f'{{x[2]}}')", {name: keep, "x": x})

    return run


def caught(x):
    try:
        raise ValueError(f"{x[2]} is wrong")  # noqa: TRY301
    except ValueError as error:
        return error.args[0].split()[0]


def formatted(x):
    try:
        raise ValueError(str(x[2]))  # noqa: TRY301
    except ValueError:
        return traceback.format_exc().split("Error: ")[1]


def warned(x):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.warn(f"{x[2]}", stacklevel=1)
        return str(told[0].message)


def raised(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn(f"{x[2]}", stacklevel=1)
        except UserWarning as error:
            return str(error)


def walrus(x):
    print(kept := f"{x[2]}")
    return kept


def by_operator(run):
    def through(x):
        keeper = Collector()
        run(keeper, x)
        return keeper.texts[0]

    return through


def teed(x):
    one, other = itertools.tee(f"{t}" for t in x[2:3])
    print("".join(one))
    return next(other)


def by_list(x):
    functions = [str, Collector()]
    print(list(functions)[1](f"{x[2]}"))
    return functions[1].texts[0]


def named_print(x):
    keeper = Collector()
    keeper.print(f"{x[2]}")
    return keeper.texts[0]


def changed_print(x):
    keeper = Collector()
    builtins_print, builtins.print = builtins.print, keeper
    try:
        print(f"{x[2]}")
    finally:
        builtins.print = builtins_print
    return keeper.texts[0]


def in_str(x):
    @dataclasses.dataclass
    class Row:
        value: object

    return str(Row(x[2])).split("=")[1].rstrip(")")


def number_in(text):
    return float(re.search(r"\d+\.\d+", text)[0])


KEPT = {
    "print to a file": printed(lambda x, file: print(x[2], file=file)),
    "print a text to a file": printed(lambda x, file: print(f"{x[2]}", file=file)),
    "redirected": printed(redirected),
    "replaced": printed(replaced),
    "spread": printed(lambda x, file: print(f"{x[2]}", **{"file": file})),  # noqa: PIE804
    "partial": printed(lambda x, file: functools.partial(print, file=file)(x[2])),
    "pprint to a file": printed(lambda x, file: pprint.pprint(x[2], stream=file)),
    "pprint into a file": printed(lambda x, file: pprint.pprint(x[2], file)),
    "write": printed(lambda x, file: file.write(f"{x[2]}")),
    **{
        name: of_function(name)
        for name in ("print", "log", "info", "warn", "set_title", "OwnError")
    },
    "a method called print": named_print,
    "another print": changed_print,
    "an error": lambda x: ValueError(f"{x[2]}").args[0],
    "an error that is caught": caught,
    "a traceback": formatted,
    "a warning": warned,
    "a warning that is raised": raised,
    "a handler": logged(Keeping()),
    "a handler of a stream": logged(KeepingStream()),
    "a text for a handler": logged(Keeping(), lambda x: LOG.error(f"{x[2]}")),  # noqa: G004
    "a walrus": walrus,
    "<<": by_operator(lambda keeper, x: keeper << f"{x[2]}"),
    "%": by_operator(lambda keeper, x: print(keeper % f"{x[2]}")),
    "+": by_operator(lambda keeper, x: print(f"{x[2]}" + keeper)),
    "[]": by_operator(lambda keeper, x: print(keeper[f"{x[2]}"])),
    "()": by_operator(lambda keeper, x: print(keeper(str(x[2])))),
    "map": by_operator(lambda keeper, x: print(*map(keeper, [f"{x[2]}"]))),
    "sorted": by_operator(
        lambda keeper, x: print(sorted([f"{x[2]}"], key=lambda text: len((keeper << text).texts)))
    ),
    "spec": by_operator(lambda keeper, x: print(f"{keeper:{x[2]}}")),
    "spec of format": by_operator(lambda keeper, x: print(f"{{:{x[2]}}}".format(keeper))),
    "translate": by_operator(lambda keeper, x: print(f"{x[2]}".translate(Letters(keeper)))),
    "tee": teed,
    "one of a list": by_list,
    "__str__": lambda x: x[2].__str__(),
    "__repr__": lambda x: x[2:3].__repr__(),
    "__format__": lambda x: x[2].__format__(".2f"),
    "str": lambda x: str(x[2]),
    "map of str": lambda x: next(map(str, x[2:3])),
    "f": lambda x: f"{x[2]}",
    "template": lambda x: string.Template("$v").substitute(v=x[2]),
    "formatter": lambda x: string.Formatter().format("{}", x[2]),
    "pformat": lambda x: pprint.pformat([x[2]]),
    "reprlib": lambda x: reprlib.repr([float(x[2])]),
    "fraction": lambda x: str(fractions.Fraction(x[2]) * 4 / 4).split("/")[0] and str(x[2]),
    "dedent": lambda x: textwrap.dedent(f" {x[2]}"),
    "dataclass": in_str,
    "namedtuple": lambda x: repr(collections.namedtuple("Row", "v")(x[2])),  # noqa: PYI024
    "array2string": lambda x: np.array2string(x[2:3]),
    "a dict": lambda x: repr({"a": x[2]}),
}


def shown_table(x):
    print("mean", *(f"{t:.2f}" for t in x), sep="\t")


class Point:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"<{self.value:.3f}>"

    def tell(self):
        print(f"{self!s} of {self.value}")


class Owner:
    def __init__(self):
        self.log = LOG

    def tell(self, x):
        self.log.info(f"{x[2]}")  # noqa: G004
        self.log.warning("%s of %r", x[2], x)


SHOWN = {
    "print": lambda x: print(x[2]),
    "print an array": lambda x: print(x, x[2], sep="|"),
    "print a text": lambda x: print(f"{x[2]:.2f} {x!r:>20}", flush=True),
    "print to stderr": lambda x: print(f"{x[2]}", file=sys.stderr),
    "print to stderr, and": lambda x: print("of", x[2], end="", file=sys.stderr),
    "percent": lambda x: print("%s|%s" % (x[2], x[1])),  # noqa: UP031
    "format": lambda x: print("{:.2f} {}".format(x[2], x)),  # noqa: UP032
    "str": lambda x: print("mean " + str(x[2]) + " of " + str(x)),
    "methods": lambda x: print(f"{x[2]!r}".ljust(9).upper(), str(x[1]).rjust(3)),
    "join": lambda x: print(", ".join(map(str, x))),
    "join of a list": lambda x: print(", ".join([f"{t:.1f}" for t in x])),
    "join of a generator": lambda x: print(", ".join(f"{t:.1f}" for t in x)),
    "rows": lambda x: print("\n".join(" ".join(f"{t}" for t in row) for row in x.reshape(2, 3))),
    "a table": shown_table,
    "a list": lambda x: print([x[2]], {"a": x[1]}),
    "one or the other": lambda x: print(f"{x[2]}" if len(x) else "none"),
    "pprint": lambda x: pprint.pprint({"a": x[2]}),
    "an object": lambda x: print(Point(x[2])),
    "a method": lambda x: Point(x[2]).tell(),
    "write": lambda x: sys.stdout.write(f"{x[2]}\n"),
    "explicit": lambda x: print(x[2].__str__(), x.__repr__(), x[2].__format__(".1f")),
    "dropped": lambda x: exec("f'{x[2]}'; str(x)", {"x": x}),
    "log": lambda x: LOG.error("%s", x[2]),
    "log a text": lambda x: LOG.error(f"{x[2]}"),  # noqa: G004
    "logging": lambda x: logging.warning("%s %s", x[2], f"{x[1]}"),  # noqa: LOG015
    "a logger of an object": lambda x: Owner().tell(x),
    "nothing to tell": lambda x: LOG.debug("%s", x[2]),
}


def on_a_terminal(test):
    """Run a test with what a program has: no captured streams, no handlers of a test."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", sys.__stdout__)
            patch.setattr(sys, "stderr", sys.__stderr__)
            patch.setattr(logging.root, "handlers", [])
            test(*args, **kwargs)

    return run


@pytest.mark.parametrize("name", KEPT)
@on_a_terminal
def test_a_text_that_can_be_read_again_is_a_leak(name):
    with dslog.open(":memory:", leaks="ignore") as store:
        x, y = store.track(A.copy(), "x"), store.track(A * 2, "y")
        number = number_in(KEPT[name](x))
        assert number == number_in(KEPT[name](A.copy()))
        assert abs(number - A[2]) < 1e-12
        answer = store.backward((y * number).named("z").name, [(0,)], "x")
        assert not answer.exact
        assert not answer.complete
        [*lost] = [leak for leak in store.leaks() if leak.loses]
        assert {leak.file for leak in lost} <= {__file__, "<string>"}


@pytest.mark.parametrize("name", KEPT)
@on_a_terminal
def test_an_error_comes_before_the_text(name):
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        if "handler" in name and "text" not in name:  # which logging prints, and goes on
            return
        with pytest.raises(dslog.LeakError):
            KEPT[name](x)
        assert not any(leak.loses for leak in store.leaks())


@pytest.mark.parametrize("name", SHOWN)
@on_a_terminal
def test_a_text_that_is_only_looked_at_is_none(name):
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        SHOWN[name](x)
        assert store.backward((x * 2).name, [(0,)], "x").exact
        ways = {leak.way for leak in store.leaks()}
        assert ways <= {"text"}
        assert ways or name == "nothing to tell"


@on_a_terminal
def test_a_stream_of_a_test_is_no_terminal():
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(A.copy(), "x")
        with contextlib.redirect_stdout(io.StringIO()):
            print(x[2])
        assert [leak.loses for leak in store.leaks()] == [True]


@on_a_terminal
def test_a_handler_of_a_parent_is_looked_at():
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(A.copy(), "x")
        handler = Keeping()
        logging.getLogger("test").addHandler(handler)
        try:
            LOG.error("%s", x[2])
            LOG.error(f"{x[2]}")  # noqa: G004
        finally:
            logging.getLogger("test").removeHandler(handler)
        assert handler.texts == ["3.25", "3.25"]
        assert [leak.loses for leak in store.leaks()] == [True, True]


def losses(code, *options):
    """Which texts of a program are leaks, in a process of its own."""
    begin = """
        import warnings, numpy as np, dslog
        store = dslog.open(":memory:", leaks="ignore")
        x = store.track(np.arange(3.0) + 1, "x")
    """
    end = """
        print([leak.loses for leak in store.leaks()])
    """
    program = "".join(map(textwrap.dedent, (begin, code, end)))
    run = [sys.executable, *options, "-c", program]
    told = subprocess.run(run, check=True, capture_output=True, text=True)
    return eval(told.stdout.splitlines()[-1])


def test_without_positions_every_text_is_kept():
    """Python can be told to keep no positions of code."""
    code = 'y = f"{x[1]}"; print(1)'
    assert losses(code) == losses(code, "-X", "no_debug_ranges") == [True]
    assert losses('print(f"{x[1]}")') == [False]


WARNINGS = {
    'warnings.warn(f"{x[1]}")': [False],
    'warnings.warn(f"{x[1]}", stacklevel=2)': [False],
    """
        class Kept(UserWarning):
            def __init__(self, text):
                self.text = text

        warnings.warn(f"{x[1]}", Kept)
    """: [True],
    """
        with warnings.catch_warnings(record=True):
            warnings.warn(f"{x[1]}")
    """: [True],
    """
        warnings.simplefilter("error")
        try:
            warnings.warn(f"{x[1]}")
        except UserWarning:
            pass
    """: [True],
    """
        warnings.showwarning = print
        warnings.warn(f"{x[1]}")
    """: [True],
}


@pytest.mark.parametrize("code", WARNINGS)
def test_warnings_are_looked_at_if_nobody_collects_them(code):
    assert losses(code) == WARNINGS[code]


@on_a_terminal
def test_numbers_that_are_read_from_a_text(tmp_path):
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(A.copy(), "x")
        (tmp_path / "x").write_text(" ".join(f"{t:.3f}" for t in x))
        y = store.track(np.loadtxt(tmp_path / "x"), "y")
        assert store.name_of(y * 2) is not None
        assert not store.backward((y * float(str(x[1]))).name, [(0,)], "x").complete
