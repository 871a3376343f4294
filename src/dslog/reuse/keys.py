"""What calls are looked up by (paper section VI): ``base_sig``, ``dim_sig`` and ``gen_sig``.

=========== =====================================================================================
signature   key
=========== =====================================================================================
base_sig    name, arguments, the inputs' content (else their names), the outputs' shapes
dim_sig     name, arguments, the shapes of inputs and outputs
gen_sig     name, arguments, the numbers of axes
=========== =====================================================================================

A call has several gen_sig keys: one with all its arguments, and one for each integer argument that
is left open and becomes a variable of the formulas (``delete``'s index, ``roll``'s shift). A list
of integers that is an output's shape (``reshape``, ``broadcast_to``) is replaced by a word for it,
since it says nothing that the shapes do not.

The first calls of an operation are kept together, under a *family* key that leaves all integer
arguments open: a signature gets a row of its own when a second call has the same key.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dslog.reuse.expressions import Sizes
from dslog.store.seams import Request

Json = Any

OPEN, SHAPE = "$open", "$shape"
_LONGEST = 400  # characters of arguments that a key holds as they are
_MOST_OPEN = 4  # integer arguments that are left open, one at a time
_MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Variant:
    """A gen_sig key of a call, and the call's sizes with the argument that the key leaves open.

    ``opened`` is that argument's place among the call's integers, None if the key has them all.
    """

    key: str
    sizes: Sizes
    opened: int | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """The key of all calls that differ in integer arguments only, and the integers of one call.

    ``listed`` are integers inside of lists, which all calls of the family have.
    """

    key: str
    integers: tuple[int, ...]
    listed: tuple[int, ...] = ()


def base_key(request: Request) -> str:
    """Return the key of calls with the same inputs."""
    contents = request.contents or (None,) * len(request.inputs)
    inputs = [
        {"content": content} if content else array.name
        for content, array in zip(contents, request.inputs, strict=True)
    ]
    shapes = [array.shape for array in (*request.inputs, *request.outputs)]
    return _key(request.name, request.args, [inputs, shapes])


def dim_key(request: Request) -> str:
    """Return the key of calls with the same shapes."""
    sizes = sizes_of(request)
    return _key(request.name, request.args, [sizes.inputs, sizes.outputs])


def gen_variants(request: Request) -> list[Variant]:
    """Return the keys of calls that may differ in shapes; the one with all arguments first."""
    return variants(request.name, request.args, sizes_of(request))


def variants(name: str, args: Mapping[str, object], sizes: Sizes) -> list[Variant]:
    """Return the gen_sig keys of a call.

    >>> for variant in variants("roll", {"shift": 3, "axis": 0}, Sizes(((9,),), ((9,),))):
    ...     print(variant.key, variant.sizes.args)
    ["roll",{"axis":0,"shift":3},[[1],[1]]] ()
    ["roll",{"axis":{"$open":true},"shift":3},[[1],[1]]] (0,)
    ["roll",{"axis":0,"shift":{"$open":true}},[[1],[1]]] (3,)
    """
    named = _named(args, sizes)
    ranks = list(sizes.ranks)
    integers, listed = _integers(named), _listed(named)
    values = tuple(integers.values())
    found = [Variant(_key(name, named, ranks), opening(sizes, values, None, listed))]
    for place, key in enumerate(integers):
        if len(integers) <= _MOST_OPEN:
            opened = {**named, key: {OPEN: True}}
            free = opening(sizes, values, place, listed)
            found.append(Variant(_key(name, opened, ranks), free, place))
    return found


def opening(
    sizes: Sizes, integers: tuple[int, ...], opened: int | None, listed: tuple[int, ...]
) -> Sizes:
    """Return the sizes of a call with one of its integer arguments open."""
    args = () if opened is None else (integers[opened],)
    fixed = tuple(value for place, value in enumerate(integers) if place != opened)
    return Sizes(sizes.inputs, sizes.outputs, args, (*fixed, *listed))


def family_of(request: Request) -> Family:
    """Return the key under which first calls are kept."""
    sizes = sizes_of(request)
    named = _named(request.args, sizes)
    integers = _integers(named)
    opened = {**named, **{key: {OPEN: True} for key in integers}}
    key = _key(request.name, opened, list(sizes.ranks))
    return Family(key, tuple(integers.values()), _listed(named))


def sizes_of(request: Request) -> Sizes:
    """Return the shapes of a call."""
    return Sizes(
        tuple(array.shape for array in request.inputs),
        tuple(array.shape for array in request.outputs),
    )


def read_key(key: str) -> tuple[str, Json, Json]:
    """Return name, arguments and the rest of a key."""
    name, args, rest = json.loads(key)
    return name, args, rest


def _key(name: str, args: Mapping[str, object], rest: Json) -> str:
    if len(_compact(args)) > _LONGEST:
        args = {"$digest": hashlib.blake2b(_compact(args).encode(), digest_size=16).hexdigest()}
    return _compact([name, args, rest])


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def names_shape(key: str) -> bool:
    """Whether an argument is the shape of an output.

    >>> names_shape('["reshape",{"shape":{"$shape":"o0"}},[[1],[2]]]')
    True
    """
    return f'"{SHAPE}"' in key


def _without_shapes(value: Json, sizes: Sizes) -> Json:
    """Replace a list of two or more integers that is the shape of an output.

    One of them may be -1, which stands for the size that is left, as in ``reshape``.
    """
    if isinstance(value, list) and len(value) > 1 and all(map(_is_integer, value)):
        free = [axis for axis, size in enumerate(value) if size == -1]
        for place, shape in enumerate(sizes.outputs):
            if len(free) < 2 and len(value) == len(shape):
                given = [shape[axis] if axis in free else n for axis, n in enumerate(value)]
                if tuple(given) == shape:
                    return {SHAPE: f"o{place}", **({"free": free[0]} if free else {})}
    return value


def _named(args: Mapping[str, object], sizes: Sizes) -> dict[str, Json]:
    return {key: _without_shapes(value, sizes) for key, value in args.items()}


def _integers(args: Mapping[str, Json]) -> dict[str, int]:
    return {key: args[key] for key in sorted(args) if _is_integer(args[key])}


def _listed(args: Mapping[str, Json]) -> tuple[int, ...]:
    lists = (args[key] for key in sorted(args) if isinstance(args[key], list))
    return tuple(filter(_is_integer, itertools.chain.from_iterable(lists)))[:_MOST_LISTED]


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
