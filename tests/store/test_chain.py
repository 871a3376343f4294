"""The chain and the seal: any edit of what answers depend on is found and named."""

import random
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import dslog
from dslog.store.connection import SEALED, seal


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("chain") / "s"
    rows = np.c_[np.arange(5000), np.random.default_rng(3).permutation(5000)]
    for k in range(3):
        with dslog.open(path, leaks="ignore") as store, store.run("nightly", params={"k": k}):
            x = store.track(np.arange(12.0).reshape(3, 4) + k, "x", keep_values=True)
            float(x.sum(axis=1).named("total")[0])
            store.array("p", (5000,))
            store.array("q", (5000,))
            store.register_operation("sort", ["p"], ["q"], rows, op_args={"k": 1})
    return path


def edit(path, rng):
    """Change a value of a row of the catalog, or a byte of a file."""
    files = [p for p in path.rglob("*") if p.suffix in (".parquet", ".npy")]
    if rng.random() < 0.2:
        file = rng.choice(sorted(files))
        content = bytearray(file.read_bytes())
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        file.write_bytes(content)
        return file.name
    with closing(sqlite3.connect(path / "catalog.sqlite")) as db:
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        tables = [t for (t,) in db.execute(names) if db.execute(f"SELECT 1 FROM {t}").fetchone()]
        table = rng.choice(sorted(tables))
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        rows = db.execute(f"SELECT * FROM {table}").fetchall()
        row = rng.choice(rows)
        column = rng.choice([k for k, value in enumerate(row) if value is not None])
        old = row[column]
        new = (
            old + rng.choice([-1, 1, 7])
            if isinstance(old, int | float)
            else old[:-1] + bytes([old[-1] ^ 1]) if isinstance(old, bytes)
            else old[: (cut := rng.randrange(len(old) + 1))] + "x" + old[cut:]
        )  # fmt: skip
        where = " AND ".join(f"{name} IS ?" for name in columns)
        try:
            db.execute(f"UPDATE {table} SET {columns[column]} = ? WHERE {where}", (new, *row))
        except sqlite3.IntegrityError:
            return None
        if table in SEALED and rng.random() < 0.5:  # who knows how rows are sealed
            db.create_function("seal", -1, seal)
            db.execute(f"UPDATE {table} SET seal = seal({SEALED[table]})")
        db.commit()
    return f"{table}.{columns[column]}: {old!r} -> {new!r}"


def found(path):
    try:
        with dslog.open(path, "r") as store:
            return not store.verify().ok
    except dslog.StoreError:
        return True


def test_single_edits_are_found(path, tmp_path):
    assert not found(path)
    missed, edits = [], 0
    for number in range(150):
        copy = shutil.copytree(path, tmp_path / str(number))
        what = edit(copy, random.Random(number))
        edits += what is not None
        if what is not None and not found(copy):
            missed.append(what)
        shutil.rmtree(copy)
    assert edits > 120
    assert [what for what in missed if ".seal:" not in what] == []


def keys(directory, name):
    private = Ed25519PrivateKey.generate()
    pem, raw = serialization.Encoding.PEM, serialization.NoEncryption()
    files = directory / f"{name}.pem", directory / f"{name}.pub"
    files[0].write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, raw))
    public = private.public_key()
    files[1].write_bytes(public.public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo))
    return files


def test_a_seal(path, tmp_path):
    copy = shutil.copytree(path, tmp_path / "s")
    private, public = keys(tmp_path, "mine")
    _, other = keys(tmp_path, "other")
    with dslog.open(copy) as store:
        assert "no seal" in str(store.verify(public))
        seal = store.seal(private)
        assert store.verify(public).ok
        assert "not made with this key" in str(store.verify(other))
    with dslog.open(copy, "r") as store:
        assert store.verify(public).ok
    with dslog.open(copy) as store:
        store.array("later", (3,))
        assert "came after the seal" in str(store.verify(public))
        assert store.verify().ok
        assert store.seal(private).number > seal.number
        with pytest.raises(dslog.StoreError, match="can't be read as a private key"):
            store.seal(public)


def test_a_chain_made_anew_is_not_the_sealed_one(path, tmp_path):
    copy = shutil.copytree(path, tmp_path / "s")
    private, public = keys(tmp_path, "mine")
    with dslog.open(copy) as store:
        store.seal(private)
    with closing(sqlite3.connect(copy / "catalog.sqlite")) as db:
        db.create_function("seal", -1, seal)
        db.execute("UPDATE operations SET args = '{\"axis\":0}' WHERE name = 'sum'")
        db.execute(f"UPDATE operations SET seal = seal({SEALED['operations']})")
        db.commit()
    with dslog.open(copy, "r") as store:
        assert any("its rows are not what was written" in one for one in store.verify().problems)
        assert not store.verify(public).ok
