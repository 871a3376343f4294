"""What is behind the cells of a query, found by DuckDB, and without a look at Spark's plan.

Three ways, each of its own. A query that was written by hand for the rows behind each row, with
what each column reads in them, gives the cells that contributed, exactly, and those that decided in
the same rows. Values drawn at random for *all* cells that neither contributed nor decided leave a
row as it is. And a change of a contributing number, where a sum is made, changes the sum.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Part:
    """Rows behind the rows of a query.

    ``rows`` is a query: columns that are named like those of the result, or ``_0`` for the first,
    say which row, each other one is called like a table, or its alias, and has row numbers of it,
    or lists of these. ``reads`` has for each column of the result which columns it reads there,
    ``decides`` which ones decided in these rows that there is a row; ``alias.column``, or the
    column alone where only one table has it.
    """

    rows: str
    reads: Mapping[str, str]
    decides: str = ""


@dataclass(frozen=True)
class Behind:
    """Parts, and columns of which any row may have decided, as ``table.column``.

    ``orders`` are columns that rows are sorted by, which may count as having decided. ``loose`` are
    columns of the result of which lineage promises a superset alone.
    """

    parts: Sequence[Part]
    anywhere: str = ""
    orders: str = ""
    loose: str = ""


@dataclass
class Oracle:
    """Tables in DuckDB; ``aliases`` are names that queries have for them, but for digits."""

    tables: Mapping[str, pa.Table]
    aliases: Mapping[str, str]
    counted: int = 0
    _db: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def __post_init__(self):
        load(self._db, self.tables)
        self.columns = {name: table.column_names for name, table in self.tables.items()}

    def table(self, alias):
        bare = alias.rstrip("0123456789")
        return self.aliases.get(bare, bare)

    def rows(self, query):
        return self._db.execute(query).fetchall()

    def behind(self, columns, spec):
        """Return what cells of a row come from, and what decided in the rows behind it."""
        return [_Found(self, columns, part) for part in spec.parts]

    def cells_of(self, text, names=()):
        """Read columns: pairs of an alias, or table, and the column's place in it."""
        for word in text.split():
            alias, _, column = word.rpartition(".")
            if not alias:
                alias = next(n for n in [*names, *self.tables] if word in self._columns_of(n))
            yield alias, self.columns[self.table(alias)].index(column)

    def _columns_of(self, alias):
        return self.columns.get(self.table(alias), ())


class _Found:
    """The row numbers that a part gives, by the row of the result."""

    def __init__(self, oracle, columns, part):
        table = oracle._db.sql(part.rows).to_arrow_table()
        names = table.column_names
        place = {name: n for n, name in enumerate(columns)} | {
            f"_{n}": n for n in range(len(columns))
        }
        keys = [n for n, name in enumerate(names) if name in place]
        self.keys = [place[names[n]] for n in keys]
        self.aliases = [name for name in names if name not in place]
        self.rows = defaultdict(lambda: defaultdict(set))
        numbers = {name: table.column(name).to_pylist() for name in self.aliases}
        values = [table.column(n).to_pylist() for n in keys]
        for line in range(table.num_rows):
            found = self.rows[tuple(text(column[line]) for column in values)]
            for name in self.aliases:
                of = numbers[name][line]
                if of is not None:
                    found[name].update(of if isinstance(of, list) else (of,))
        self.reads = {
            place[name]: list(oracle.cells_of(read, self.aliases))
            for name, read in part.reads.items()
        }
        self.decides = list(oracle.cells_of(part.decides, self.aliases))

    def cells(self, row, column, oracle):
        return self._cells(row, self.reads.get(column, ()), oracle)

    def deciding(self, row, oracle):
        return self._cells(row, self.decides, oracle)

    def _cells(self, row, reads, oracle):
        behind = self.rows.get(tuple(text(row[key]) for key in self.keys), {})
        found = defaultdict(set)
        for alias, place in reads:
            found[oracle.table(alias)] |= {(number, place) for number in behind.get(alias, ())}
        return found


def text(value):
    """A value that is the same in DuckDB and in Spark."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(text, value)) + "]"
    return str(value)


def texts(rows):
    return [tuple(map(text, row)) for row in rows]


def cells(found):
    return set(map(tuple, found.indices().tolist()))


def sources(store, frame, oracle):
    """The tables that anything in a frame comes from or was decided by; others have no cells."""
    return [t for t in oracle.tables if store.backward(frame.name, None, to=t, influence=True)]


def check_contribution(store, frame, rows, oracle, spec, numbers=None):
    """Compare the contribution of every cell of some rows with the oracle's."""
    found = oracle.behind(frame.columns, spec)
    tables = sources(store, frame, oracle)
    for number in range(len(rows)) if numbers is None else numbers:
        for column in range(len(frame.columns)):
            expected = [one.cells(rows[number], column, oracle) for one in found]
            assert {t for one in expected for t, read in one.items() if read} <= {*tables}
            for table in tables:
                true = set().union(*(one.get(table, set()) for one in expected))
                answer = store.backward(frame.name, (number, column), to=table)
                what = rows[number], frame.columns[column], table
                if frame.columns[column] in spec.loose.split() and not answer.exact:
                    assert cells(answer) >= true, what
                else:
                    assert cells(answer) == true, what
                    assert answer.exact or spec.loose, what
                oracle.counted += 1


def check_influence(store, frame, rows, oracle, spec, numbers):
    """Compare what decided: nothing is left out, and what is too much is labelled and of columns
    that decide.
    """
    found = oracle.behind(frame.columns, spec)
    named = [(oracle.table(a), c) for one in found for a, c in one.decides]
    anywhere = set(oracle.cells_of(spec.anywhere))
    orders = {(oracle.table(a), c) for a, c in oracle.cells_of(spec.orders)}
    tables = sources(store, frame, oracle)
    for number in numbers:
        for column in range(len(frame.columns)):
            parts = [one.cells(rows[number], column, oracle) for one in found]
            own = [one.deciding(rows[number], oracle) for one in found]
            assert {t for one in own for t, decided in one.items() if decided} <= {*tables}
            assert {t for t, _ in anywhere} <= {*tables}
            for table in tables:
                place = frame.name, (number, column)
                only = store.backward(*place, to=table, influence="only")
                both = store.backward(*place, to=table, influence=True)
                read = set().union(*(one.get(table, set()) for one in parts))
                decided = set().union(*(one.get(table, set()) for one in own))
                what = rows[number], frame.columns[column], table
                assert cells(both) >= read | decided, what
                assert cells(only) | cells(store.backward(*place, to=table)) == cells(both), what
                columns = {c for t, c in {*named, *anywhere} if t == table}
                assert {c for _, c in cells(both)} >= {c for t, c in anywhere if t == table}, what
                extra = {c for _, c in cells(only)} - columns
                assert extra <= {c for t, c in orders if t == table}, what
                if only.exact:
                    loose = {c for t, c in orders if t == table}
                    assert {cell for cell in cells(only) if cell[1] not in loose} <= decided, what
                oracle.counted += 1


def load(db, tables):
    for name, table in tables.items():
        db.register(f"_{name}", table)
        db.execute(f"create or replace table {name} as select * from _{name}")
        db.unregister(f"_{name}")


def check_scrambled(store, frame, rows, oracle, query, numbers, seed=0):
    """Draw all cells anew that a row does not name: the row stays, with its values."""
    rng = np.random.default_rng(seed)
    behind = sources(store, frame, oracle)
    for number in numbers:
        tables = {}
        for name, table in oracle.tables.items():
            named = np.zeros(table.shape, bool)
            for column in range(len(frame.columns)) if name in behind else ():
                found = store.backward(frame.name, (number, column), to=name, influence=True)
                named |= found.mask()
            tables[name] = scrambled(table, named, rng)
        with duckdb.connect() as db:
            load(db, tables)
            after = texts(db.execute(query).fetchall())
        assert after.count(texts(rows)[number]) >= 1, rows[number]
        oracle.counted += 1


def scrambled(table, named, rng):
    """A table whose cells are drawn from their columns, but for those that are named."""
    drawn = {}
    for place, name in enumerate(table.column_names):
        rows = np.arange(table.num_rows)
        other = rng.integers(0, max(1, table.num_rows), table.num_rows)
        drawn[name] = table.column(name).take(pa.array(np.where(named[:, place], rows, other)))
    return pa.table(drawn, schema=table.schema)


def check_sums(store, frame, rows, oracle, query, column, numbers, seed=0):
    """Add to one number that contributed to a sum: the row is not what it was."""
    rng = np.random.default_rng(seed)
    for number in numbers:
        for name in sources(store, frame, oracle):
            table = oracle.tables[name]
            found = sorted(cells(store.backward(frame.name, (number, column), to=name)))
            found = [c for c in found if not pa.types.is_string(table.schema.field(c[1]).type)]
            if not found:
                continue
            row, place = found[rng.integers(len(found))]
            values = table.column(place).to_pylist()
            if values[row] is None:
                continue
            values[row] += 1000
            column_type = table.schema.field(place).type
            other = table.set_column(place, table.column_names[place], [values])
            assert other.schema.field(place).type == column_type
            with duckdb.connect() as db:
                load(db, {**oracle.tables, name: other})
                after = texts(db.execute(query).fetchall())
            assert texts(rows)[number] not in after, (rows[number], name, row, place)
            oracle.counted += 1
