"""Write docs/images/explain.png: a face, and what the detector that found it looked at.

Needs the extra ``explain``. Run it after a change to dslog.explain.drise.
"""

from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data
from skimage.feature import Cascade

import dslog

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "explain.png"


def main() -> None:
    """Explain one face and draw it beside the cells that matter."""
    photo = data.astronaut()[20:220, 110:310]
    cascade = Cascade(data.lbp_frontal_face_cascade_filename())

    def faces(image: np.ndarray) -> list[tuple[int, ...]]:
        found = cascade.detect_multi_scale(
            img=image, scale_factor=1.3, step_ratio=1, min_size=(60, 60), max_size=(120, 120)
        )
        return [(f["r"], f["c"], f["r"] + f["height"], f["c"] + f["width"]) for f in found]

    found = dslog.explain.drise(faces, photo, samples=500, grid=6, visible=0.6)
    boxed = photo.copy()
    top, left, bottom, right = faces(photo)[0]
    for rows, columns in (
        ([top, top + 1, bottom - 1, bottom - 2], slice(left, right)),
        (slice(top, bottom), [left, left + 1, right - 1, right - 2]),
    ):
        boxed[rows, columns] = (255, 220, 0)
    panels = [boxed]
    for threshold in (0.5, 0.7):
        seen = found.mask(threshold)[0][..., None]
        panels.append(np.where(seen, photo, photo // 5).astype(np.uint8))
    gap = np.full((photo.shape[0], 8, 3), 255, np.uint8)
    row = np.concatenate([panels[0], gap, panels[1], gap, panels[2]], axis=1)
    Image.fromarray(row).save(PICTURE)


if __name__ == "__main__":
    main()
