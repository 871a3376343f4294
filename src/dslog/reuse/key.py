"""What calls are looked up by (paper section VI): ``base_sig``, ``dim_sig`` and ``gen_sig``.

=========== =====================================================================================
signature   key
=========== =====================================================================================
base_sig    name, arguments, the inputs' content (else their names), the outputs' shapes
dim_sig     name, arguments, the shapes of inputs and outputs
gen_sig     name, arguments, the numbers of axes
=========== =====================================================================================

A call has several gen_sig keys: one with all its arguments, one for each integer argument that is
left open and becomes a variable of the formulas (``delete``'s index, ``roll``'s shift), and one
with all integers open, also those in lists (the ends of a slice, ``tile``'s reps). A list of
integers that is an output's shape (``reshape``, ``broadcast_to``) is replaced by a word for it,
since it says nothing that the shapes do not.

The first calls of an operation are kept together, under a *family* key that leaves all integer
arguments open: a signature gets a row of its own when a second call has the same key.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from dslog.reuse.expression import Sizes
from dslog.store.catalog import compact
from dslog.store.hooks import Request
from dslog.types import Json

OPEN, SHAPE = "$open", "$shape"
_LONGEST = 400  # characters of arguments that a key holds as they are
_MOST_OPEN = 4  # integer arguments that are left open
_MOST_OTHERS = 8

Values = tuple[int, ...]
Places = tuple[int, ...]
Slot = tuple[str, int | None]  # an argument's name, and the place in it if it is a list


@dataclass(frozen=True, slots=True)
class Variant:
    """A gen_sig key of a call, and the call's sizes with the arguments that the key leaves open.

    ``opened`` are those arguments' places among the call's integers.
    """

    key: str
    sizes: Sizes
    opened: Places = ()


@dataclass(frozen=True, slots=True)
class Family:
    """The key of all calls that differ in integer arguments only, and the integers of one call.

    ``others`` are integers that all calls of the family have.
    """

    key: str
    integers: Values
    others: Values = ()


@dataclass(frozen=True, slots=True)
class Integers:
    """The integers among the arguments of a call.

    A *slot* is one that may be left open: an argument, or an item of a list. ``others`` are those
    of lists that would make it too many.
    """

    args: Mapping[str, Json]
    slots: tuple[Slot, ...]
    others: Values

    @classmethod
    def of(cls, args: Mapping[str, Json]) -> Self:
        """Find the integers."""
        single: list[Slot] = [(key, None) for key in sorted(args) if _is_integer(args[key])]
        listed: list[Slot] = [
            (key, place)
            for key in sorted(args)
            if isinstance(args[key], list)
            for place, item in enumerate(args[key])
            if _is_integer(item)
        ]
        if len(single) + len(listed) <= _MOST_OPEN:
            return cls(args, (*single, *listed), ())
        others = tuple(args[key][place] for key, place in listed[:_MOST_OTHERS])
        return cls(args, tuple(single[:_MOST_OPEN]), others)

    @property
    def values(self) -> Values:
        """The integer of every slot."""
        return tuple(
            self.args[key] if place is None else self.args[key][place] for key, place in self.slots
        )

    def choices(self) -> Iterator[Places]:
        """Give the places to leave open: none, each argument by itself, all that there are."""
        yield ()
        yield from ((place,) for place, (_, item) in enumerate(self.slots) if item is None)
        if len(self.slots) > 1 or any(item is not None for _, item in self.slots):
            yield tuple(range(len(self.slots)))

    def opened(self, places: Iterable[int]) -> dict[str, Json]:
        """Return the arguments with some left open."""
        found = dict(self.args)
        for key, item in (self.slots[place] for place in places):
            if item is None:
                found[key] = {OPEN: True}
            else:
                found[key] = [*found[key][:item], {OPEN: True}, *found[key][item + 1 :]]
        return found


def open_names(args: Mapping[str, Json]) -> list[str]:
    """Return what the open arguments of a key are called, in the order of expressions.

    >>> open_names({"shift": [{"$open": True}, 1], "axis": {"$open": True}})
    ['axis', 'shift[0]']
    """
    single = [key for key in sorted(args) if args[key] == {OPEN: True}]
    lists = [(key, args[key]) for key in sorted(args) if isinstance(args[key], list)]
    listed = [
        f"{key}[{n}]"
        for key, items in lists
        for n, item in enumerate(items)
        if item == {OPEN: True}
    ]
    return [*single, *listed]


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
    ["roll",{"axis":{"$open":true},"shift":{"$open":true}},[[1],[1]]] (0, 3)
    """
    integers = Integers.of(_named(args, sizes))
    ranks = list(sizes.ranks)
    found = []
    for places in integers.choices():
        free = with_open_integers(sizes, integers.values, places, integers.others)
        found.append(Variant(_key(name, integers.opened(places), ranks), free, places))
    return found


def with_open_integers(sizes: Sizes, values: Values, places: Places, others: Values) -> Sizes:
    """Return the sizes of a call with some of its integer arguments open."""
    args = tuple(values[place] for place in places)
    fixed = tuple(value for place, value in enumerate(values) if place not in places)
    return Sizes(sizes.inputs, sizes.outputs, args, (*fixed, *others))


def family_of(request: Request) -> Family:
    """Return the key under which first calls are kept."""
    sizes = sizes_of(request)
    integers = Integers.of(_named(request.args, sizes))
    opened = integers.opened(range(len(integers.slots)))
    key = _key(request.name, opened, list(sizes.ranks))
    return Family(key, integers.values, integers.others)


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
    text = compact(args)
    if len(text) > _LONGEST:
        args = {"$digest": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}
    return compact([name, args, rest])


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


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
