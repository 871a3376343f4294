"""Watch libraries: their functions and models are called on tracked values as numpy's are.

``dslog.watch(scipy.ndimage, sklearn)`` puts something that calls through ``foreign_call`` in the
place of each public function of a module, and of each method of an estimator. ``watch("all")`` does
so for all libraries that DSLog has rules for, whenever the program imports them. Rules, and what
they need, are imported at the first call with tracked values.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from contextvars import Context
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Self

from dslog.capture.arrival import Arrivals
from dslog.capture.foreign.estimator import watch_estimators
from dslog.capture.foreign.foreign_call import call_foreign
from dslog.capture.foreign.recipe import watch_objects
from dslog.capture.numpy.memory import first_tracked
from dslog.capture.numpy.stand_in import Anywhere
from dslog.capture.place import origin_of
from dslog.errors import CaptureError, did_you_mean

LIBRARIES = {
    "scipy": [
        *("cluster.hierarchy", "cluster.vq", "fft", "integrate", "interpolate", "linalg"),
        *("ndimage", "optimize", "signal", "sparse.csgraph", "sparse.linalg", "spatial"),
        *("spatial.distance", "special", "stats"),
    ],
    "skimage": [
        *("color", "exposure", "feature", "filters", "filters.rank", "graph", "measure", "metrics"),
        *("morphology", "registration", "restoration", "segmentation", "transform", "util"),
    ],
    "sklearn": [
        *("calibration", "cluster", "compose", "covariance", "cross_decomposition"),
        *("decomposition", "discriminant_analysis", "dummy", "ensemble", "feature_extraction"),
        *("feature_extraction.image", "feature_selection", "gaussian_process", "impute"),
        *("isotonic", "kernel_approximation", "kernel_ridge", "linear_model", "manifold"),
        *("metrics", "metrics.pairwise", "mixture", "model_selection", "multiclass"),
        *("multioutput", "naive_bayes", "neighbors", "neural_network", "pipeline"),
        *("preprocessing", "random_projection", "semi_supervised", "svm", "tree", "utils"),
        *("frozen", "inspection", "utils.class_weight", "utils.extmath"),
    ],
    "cv2": [],
}
"""Libraries that there are rules for, with the public modules that functions are in."""
_RULES = {
    "scipy.cluster": "distances", "scipy.spatial": "distances",
    "scipy.fft": "scipy_fft", "scipy.linalg": "scipy_linalg", "scipy.signal": "scipy_signal",
    "scipy.integrate": "scipy_stats", "scipy.stats": "scipy_stats",
    "scipy.interpolate": "interpolation", "scipy.ndimage": "ndimage",
    "skimage.color": "skimage_color", "skimage.exposure": "skimage_color",
    "skimage.metrics": "skimage_color", "skimage.util": "skimage_color",
    "skimage.feature": "skimage_filters", "skimage.filters": "skimage_filters",
    "skimage.morphology": "skimage_filters",
    "skimage.measure": "skimage_color skimage_transform", "skimage.transform": "skimage_transform",
    "sklearn": "sklearn_functions sklearn_metrics",
}  # fmt: skip
"""The modules of rules that functions of a module need; those for estimators come with them."""


class WatchedLibraries:
    """Libraries that are watched, until ``end`` or the end of a ``with`` block."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[str] = set()
        self._arrived: list[ModuleType] = []
        self._importing = 0

    def end(self) -> None:
        """Let the libraries be as they were."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def add(self, module: ModuleType) -> None:
        """Watch the functions and estimators of a module, once all that it imports is there."""
        self._arrived.append(module)
        while self._arrived and not self._importing:
            self._add(self._arrived.pop(0))

    def _add(self, module: ModuleType) -> None:
        if module.__name__ in self._seen:
            return
        self._seen.add(module.__name__)
        if module.__name__.partition(".")[0] == "sklearn":
            self._undo.append(watch_estimators(module))
        self._undo.append(watch_objects(module))
        replaced: dict[int, tuple[Any, Any]] = {}
        public = _public(module)
        for name in public:
            value = vars(module).get(name)
            if _is_function(value, module):
                replaced[id(value)] = value, self._watched(module, name, value)
        ask = vars(module).get("__getattr__")  # of one that imports its parts when asked for them
        for other in filter(is_program, list(sys.modules.values())):
            for name, value in list(vars(other).items()):
                known = getattr(value, "__name__", "") if _is_function(value, module) else ""
                if ask and known in public and id(value) not in replaced and ask(known) is value:
                    replaced[id(value)] = value, self._watched(module, known, value)
                if id(value) in replaced and replaced[id(value)][0] is value:
                    self._replace(other, name, *replaced[id(value)])
        if ask is not None:
            self._replace(module, "__getattr__", ask, partial(self._ask, module, ask))

    def _ask(self, module: ModuleType, ask: Callable[[str], Any], name: str) -> Any:
        """Give what a module has only when it is asked, watched if it is a function."""
        value = ask(name)
        public = name in _public(module) and _is_function(value, module)
        return self._watched(module, name, value) if public else value

    def _watched(self, module: ModuleType, name: str, value: Any) -> Any:
        """Put what calls through ``foreign_call`` in the place of a function."""
        stand_in = Anywhere(value, partial(_call, module.__name__, name))
        self._replace(module, name, value, stand_in)
        return stand_in

    def execute(self, run: Callable[[ModuleType], None], module: ModuleType) -> None:
        """Execute a module that is being imported, then watch it."""
        self._importing += 1
        try:
            run(module)
        finally:
            self._importing -= 1
        self.add(module)

    def arrive(self, names: Iterable[str]) -> None:
        """Watch modules when they are imported."""
        arrivals = Arrivals(names, self.execute)
        sys.meta_path.insert(0, arrivals)
        self._undo.append(partial(sys.meta_path.remove, arrivals))

    def _replace(self, module: ModuleType, name: str, old: Any, new: Any) -> None:
        setattr(module, name, new)

        def undo() -> None:
            if getattr(module, name, None) is new:
                setattr(module, name, old)

        self._undo.append(undo)


def watch(*modules: ModuleType | str) -> WatchedLibraries:
    """Let calls of libraries on tracked values give tracked results.

    Of each module, also of the well-known ones inside of a package, public functions and methods of
    estimators are watched. What they read is told by rules, or seen by following them; where
    neither works, what they give is said to come from all they were given, labelled as not exact.
    ``"all"`` stands for scipy, scikit-image, scikit-learn and OpenCV, as far as they are installed.

    The result has an ``end()``, and ends with a ``with`` block; otherwise it is for good.
    """
    found = WatchedLibraries()
    for module in modules or ("all",):
        if module == "all":
            names = [name for library in LIBRARIES for name in _inside(library)]
            found.arrive(names)
            for name in names:
                if name in sys.modules:
                    found.add(sys.modules[name])
            continue
        name = module if isinstance(module, str) else module.__name__
        found.add(_module(name))
        for inner in _inside(name):
            if importlib.util.find_spec(inner) is not None:
                found.add(_module(inner))
    return found


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        hint = did_you_mean(name, [*LIBRARIES, "all"])
        raise CaptureError(f"there is no module {name!r} to watch: {error}.{hint}") from error


def _inside(name: str) -> list[str]:
    """The well-known modules inside of a package, or of a part of one, and itself."""
    library, _, part = name.partition(".")
    inner = [f"{library}.{one}" for one in LIBRARIES.get(library, ())]
    return [name, *(one for one in inner if not part or one.startswith(f"{name}."))]


def _public(module: ModuleType) -> list[str]:
    names: Iterable[str] = getattr(module, "__all__", None) or dir(module)
    return [name for name in names if not name.startswith("_")]


def _is_function(value: Any, module: ModuleType) -> bool:
    known = isinstance(value, (FunctionType, BuiltinFunctionType)) or (
        type(value).__name__ in ("cython_function_or_method", "_Function")  # compiled; scipy.fft's
    )
    library = module.__name__.partition(".")[0]
    home = getattr(value, "__module__", None) or ""  # none if made in C
    return known and str(home).partition(".")[0] in (library, "")


def is_program(module: Any) -> bool:
    """Whether a module is a program's own, so that what it imported by name is to be replaced."""
    if not isinstance(module, ModuleType):
        return False
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__ == "__main__"
    return origin_of(compile("", file, "exec")) == "program"


def _call(module: str, name: str, original: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    if first_tracked((*args, *kwargs.values())) is None:
        return original(*args, **kwargs)
    _load_rules(module)
    return call_foreign(f"{module}.{name}", original, args, kwargs)


@lru_cache
def _load_rules(module: str) -> None:
    """Register the rules for a module's functions, as if nobody were calling one of them."""
    library, *inner = module.split(".")[:2]
    for rules in _RULES.get(".".join([library, *inner]), _RULES.get(library, "")).split():
        Context().run(importlib.import_module, f"dslog.capture.foreign.rules.{rules}")
