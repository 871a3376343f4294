"""The catalog's tables, version by version: the format, apart from the code that uses it.

``MIGRATIONS[v]`` takes a catalog of version ``v`` to version ``v + 1``; an empty database has
version 0, so creating a store and bringing an old one up to date are the same thing. A step that
was released is never edited: add another one.

Rows are kept narrow, because a store may hold one operation per numpy call: integer keys, one
index per direction of a query, times as integers, and each different lineage once, however
many pairs have it: elementwise operations on arrays of one shape share a row.
"""

from collections.abc import Sequence

from dslog.errors import CorruptError, StoreError, VersionError
from dslog.store import chain
from dslog.store.connection import COUNTED, SEALED, Connection

# ruff: noqa: S608 (names of tables and columns are ours)

_SEALED_4 = {
    "arrays": "id, name, shape, made, used",
    "operations": "id, name, args, reused, exact, created, predicted, compared, sides",
    "bodies": "id, num_rows, nbytes, exact, checksum",
    "lineages": "id, output, input, operation, body, influence",
    "leaks": "id, array, way, file, line, function, inside, count, loses, mark",
    "signatures": "kind, key, state, content, hits, misses, refusals, saved",
}
_COUNTED_4 = ("arrays", "operations", "lineages", "bodies", "leaks")


def _count_rows(tables: Sequence[str], before: Sequence[str] = ()) -> str:
    """Write down how many rows there are, if there were as many as was written down before."""

    def counts(names: Sequence[str]) -> str:
        return " || ' ' || ".join(f"(SELECT count(*) FROM {name})" for name in names)

    sound = (
        f" WHERE (SELECT value FROM meta WHERE key = 'rows') = "
        f"{counts(before)} || ' ' || seal({counts(before)})"
    )
    return (
        "INSERT OR REPLACE INTO meta SELECT 'rows', counts || ' ' || seal(counts) FROM "
        f"(SELECT {counts(tables)} AS counts){sound if before else ''}"
    )


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE arrays (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            shape TEXT NOT NULL                 -- JSON, [3,2]
        )
        """,
        """
        CREATE TABLE operations (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            args TEXT NOT NULL,                 -- canonical JSON
            reused TEXT,
            exact INTEGER NOT NULL,
            created INTEGER NOT NULL,           -- milliseconds since 1970, UTC
            predicted INTEGER NOT NULL
        )
        """,
        """
        CREATE TABLE operation_arrays (
            operation INTEGER NOT NULL REFERENCES operations,
            role INTEGER NOT NULL,              -- 0 input, 1 output
            position INTEGER NOT NULL,
            array INTEGER NOT NULL REFERENCES arrays,
            PRIMARY KEY (operation, role, position)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE bodies (
            id INTEGER PRIMARY KEY,
            header TEXT NOT NULL,               -- JSON, all of a small lineage
            num_rows INTEGER NOT NULL,
            nbytes INTEGER NOT NULL,
            exact INTEGER NOT NULL,
            checksum INTEGER NOT NULL           -- CRC-32 of the content
        )
        """,
        "CREATE INDEX bodies_by_checksum ON bodies (checksum)",
        """
        CREATE TABLE files (
            body INTEGER NOT NULL REFERENCES bodies,
            blob INTEGER NOT NULL,
            part INTEGER NOT NULL,
            name TEXT NOT NULL,
            nbytes INTEGER NOT NULL,
            checksum BLOB NOT NULL,
            PRIMARY KEY (body, blob, part)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE lineages (
            id INTEGER PRIMARY KEY,
            output INTEGER NOT NULL REFERENCES arrays,
            input INTEGER NOT NULL REFERENCES arrays,
            operation INTEGER REFERENCES operations,
            body INTEGER NOT NULL REFERENCES bodies
        )
        """,
        "CREATE INDEX lineages_by_output ON lineages (output, input)",
        "CREATE INDEX lineages_by_input ON lineages (input, output)",
        """
        CREATE TABLE signatures (
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            state TEXT NOT NULL,
            content TEXT NOT NULL,
            hits INTEGER NOT NULL,
            misses INTEGER NOT NULL,
            refusals INTEGER NOT NULL,
            saved REAL NOT NULL,                -- seconds of capturing
            PRIMARY KEY (kind, key)
        ) WITHOUT ROWID
        """,
    ),
    (
        # Output cells that a reused lineage was compared on. What was reused before was compared
        # on a few cells or none, and nobody counted: it may be wrong, and says so from now on.
        "ALTER TABLE operations ADD COLUMN compared INTEGER",
        "UPDATE operations SET compared = 0 WHERE predicted",
        "UPDATE operations SET predicted = 1 WHERE reused IS NOT NULL",
    ),
    (
        # Places where values left tracking. Only arrays with a higher number than `mark` were
        # defined after it first happened there, and may hold what came of those values.
        """
        CREATE TABLE leaks (
            id INTEGER PRIMARY KEY,
            array INTEGER NOT NULL REFERENCES arrays,
            way TEXT NOT NULL,
            file TEXT NOT NULL,
            line INTEGER NOT NULL,
            function TEXT NOT NULL,
            inside TEXT NOT NULL,
            count INTEGER NOT NULL,
            loses INTEGER NOT NULL,
            mark INTEGER NOT NULL,
            UNIQUE (array, way, file, line, function, inside)
        )
        """,
    ),
    (
        # Lineage that says what decided, not what was read.
        "ALTER TABLE lineages ADD COLUMN influence INTEGER NOT NULL DEFAULT 0",
        # Seals, and counts of rows that could be missing: see `dslog.store.connection`.
        "ALTER TABLE arrays ADD COLUMN made INTEGER NOT NULL DEFAULT 0",  # lineages it is output of
        "ALTER TABLE arrays ADD COLUMN used INTEGER NOT NULL DEFAULT 0",  # lineages it is input of
        "ALTER TABLE operations ADD COLUMN sides INTEGER NOT NULL DEFAULT 0",
        *(f"ALTER TABLE {table} ADD COLUMN seal INTEGER NOT NULL DEFAULT 0" for table in _SEALED_4),
        "CREATE INDEX operation_arrays_by_array ON operation_arrays (array, role)",
        (
            "UPDATE arrays SET made = (SELECT count(*) FROM lineages WHERE output = arrays.id), "
            "used = (SELECT count(*) FROM lineages WHERE input = arrays.id)"
        ),
        (
            "UPDATE operations SET sides = seal((SELECT coalesce(group_concat(side), '') FROM ("
            "SELECT role || ':' || position || ':' || array AS side FROM operation_arrays "
            "WHERE operation = operations.id ORDER BY role, position)))"
        ),
        *(f"UPDATE {table} SET seal = seal({columns})" for table, columns in _SEALED_4.items()),
        _count_rows(_COUNTED_4),
    ),
    (
        # Runs. A name belongs to a run: the newest version of it counts. What there was before
        # is run 1. A reading says that a run took up an array of another run, such as a source.
        """
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            params TEXT NOT NULL,               -- JSON
            began INTEGER NOT NULL,             -- milliseconds since 1970, UTC
            process TEXT NOT NULL,              -- JSON: who runs it
            about TEXT NOT NULL,                -- JSON: user, script, code, versions
            ended INTEGER,
            state TEXT NOT NULL,                -- running, done, failed
            error TEXT,
            seal INTEGER NOT NULL
        )
        """,
        """
        INSERT INTO runs SELECT 1, 'before runs', '{}',
        (SELECT coalesce(min(created), 0) FROM operations), '{}', '{}',
        (SELECT coalesce(max(created), 0) FROM operations), 'done', NULL, 0
        WHERE EXISTS (SELECT 1 FROM arrays)
        """,
        """
        CREATE TABLE arrays_5 (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            run INTEGER NOT NULL REFERENCES runs,
            version INTEGER NOT NULL,
            shape TEXT NOT NULL,
            made INTEGER NOT NULL DEFAULT 0,
            used INTEGER NOT NULL DEFAULT 0,
            seal INTEGER NOT NULL DEFAULT 0
        )
        """,
        (
            "INSERT INTO arrays_5 SELECT id, name, 1, 1, shape, made, used, "
            f"iif(seal = seal({_SEALED_4['arrays']}), 0, -1) FROM arrays"
        ),
        "DROP TABLE arrays",
        "ALTER TABLE arrays_5 RENAME TO arrays",
        "CREATE UNIQUE INDEX arrays_by_name ON arrays (name, run, version)",
        """
        CREATE TABLE readings (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            run INTEGER NOT NULL REFERENCES runs,
            version INTEGER NOT NULL,
            array INTEGER NOT NULL REFERENCES arrays,
            seal INTEGER NOT NULL
        )
        """,
        "CREATE UNIQUE INDEX readings_by_name ON readings (name, run, version)",
        # What a tracked source is.
        """
        CREATE TABLE sources (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs,
            array INTEGER NOT NULL REFERENCES arrays,
            read INTEGER NOT NULL,              -- milliseconds since 1970, UTC
            digest TEXT,                        -- of what makes two of a name the same
            about TEXT NOT NULL,                -- JSON
            seal INTEGER NOT NULL
        )
        """,
        "CREATE INDEX sources_by_array ON sources (array)",
        "CREATE INDEX sources_by_digest ON sources (digest)",
        "CREATE INDEX sources_by_run ON sources (run)",
        # What was done: where in a program, how long it took, and as people write it.
        """
        CREATE TABLE places (
            id INTEGER PRIMARY KEY,
            file TEXT NOT NULL,
            line INTEGER NOT NULL,
            function TEXT NOT NULL,
            seal INTEGER NOT NULL
        )
        """,
        "CREATE INDEX places_by_line ON places (file, line)",
        "ALTER TABLE operations ADD COLUMN run INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE operations ADD COLUMN place INTEGER",
        "ALTER TABLE operations ADD COLUMN took INTEGER",  # microseconds
        "ALTER TABLE operations ADD COLUMN text TEXT",
        "CREATE INDEX operations_by_run ON operations (run)",
        # Values that are kept, and the files that hold them.
        """
        CREATE TABLE kept (
            array INTEGER PRIMARY KEY REFERENCES arrays,
            file TEXT NOT NULL,
            checksum TEXT NOT NULL,
            seal INTEGER NOT NULL
        )
        """,
        # The chain over all that was committed: see `dslog.store.chain`.
        """
        CREATE TABLE commits (
            number INTEGER PRIMARY KEY,
            made INTEGER NOT NULL,
            marks TEXT NOT NULL,                -- JSON: the last row of each table
            loose TEXT NOT NULL,                -- digest of the rows that may change
            digest TEXT NOT NULL
        )
        """,
        # What was damaged before stays so.
        f"UPDATE runs SET seal = seal({SEALED['runs']})",
        f"UPDATE arrays SET seal = seal({SEALED['arrays']}) WHERE seal = 0",
        (
            f"UPDATE operations SET seal = seal({SEALED['operations']}) "
            f"WHERE seal = seal({_SEALED_4['operations']})"
        ),
        _count_rows(COUNTED, _COUNTED_4),
    ),
)
_RUNS = 5  # the format that runs came with


def bring_up_to_date(db: Connection) -> bool:
    """Bring a catalog to the newest format, after a copy was made; say whether it had no runs."""
    before = _checked(_version(db), db)
    if before < len(MIGRATIONS):
        if before and db.path is not None:
            db.copy_to(db.path.with_name(f"catalog-format-{before}.sqlite"))
        db.rows("PRAGMA foreign_keys = OFF")  # a table is made anew
        with db.writing():  # somebody else may have been faster: look again
            version = _checked(_version(db), db)
            db.rows(
                "CREATE TABLE IF NOT EXISTS meta "
                "(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
            )
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    db.rows(statement)
            db.rows("INSERT OR REPLACE INTO meta VALUES ('format', ?)", str(len(MIGRATIONS)))
            if 0 < version < _RUNS:
                chain.begin(db)
        db.rows("PRAGMA foreign_keys = ON")
    return 0 < before < _RUNS


def _version(db: Connection) -> int:
    tables = [name for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if not tables:
        return 0
    rows = db.rows("SELECT value FROM meta WHERE key = 'format'") if "meta" in tables else []
    if not rows or not str(rows[0][0]).isdecimal():
        raise CorruptError(
            f"{db.path} is no DSLog catalog, or a damaged one: it names no format version"
        )
    return int(rows[0][0])


def _checked(version: int, db: Connection) -> int:
    newest = len(MIGRATIONS)
    if version > newest:
        raise VersionError(
            f"the store at {db.path} has format version {version}, and this DSLog reads up "
            f"to version {newest}: update DSLog to open it"
        )
    if version < newest and not db.writable:
        raise StoreError(
            f"the store at {db.path} has format version {version} and must be brought to "
            f"version {newest}: open it once with mode='a', in a directory you may write"
        )
    return version
