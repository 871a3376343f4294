"""Where does a NaN in an image come from? Plain numpy on a tracked array."""

import numpy as np

import dslog


def main() -> None:
    """Spoil one cell of an image, process it, and trace the damage."""
    image = np.random.default_rng(0).random((200, 300))
    image[120, 45] = np.nan

    with dslog.open(":memory:") as store:
        photo = store.track(image, "photo")
        halved = photo.reshape(100, 2, 150, 2).mean(axis=(1, 3)).named("halved")
        edges = np.abs(np.diff(halved, axis=1)).named("edges")
        result = np.rot90(edges).named("result")

        wrong = np.argwhere(np.isnan(dslog.plain(result)))
        print("NaN at", wrong.tolist())
        cells = store.backward("result", wrong, to="photo")
        print("made by", cells.count, "cells of", image.size)
        bad = [tuple(cell) for cell in cells.indices().tolist() if np.isnan(image[tuple(cell)])]
        print("of which NaN:", bad)
        touched = store.forward("photo", bad, to="result")
        print("which touched", touched.indices().tolist())


if __name__ == "__main__":
    main()
