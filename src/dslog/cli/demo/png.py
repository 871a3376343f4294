"""Arrays as PNG images, without an image library."""

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
PINK = (255, 0, 160)
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def to_pixels(values: npt.NDArray[np.float64]) -> Bytes:
    """Return values of 0 to 255, (h, w) or (h, w, 3), as RGB; a cell with NaN in it is pink."""
    colour = values if values.ndim == 3 else np.repeat(values[:, :, None], 3, axis=2)
    missing = np.isnan(colour).any(axis=2)
    pixels = np.clip(np.nan_to_num(colour), 0, 255).astype(np.uint8)
    pixels[missing] = PINK
    return pixels


def enlarge(pixels: Bytes, times: int) -> Bytes:
    """Return an image in which every pixel is a square of ``times`` pixels."""
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def to_png(pixels: Bytes) -> bytes:
    """Write an RGB image, (h, w, 3), as PNG."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line begins with its filter, none
    lines[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def to_url(pixels: Bytes) -> str:
    """Return an RGB image as an address that a page can hold."""
    return "data:image/png;base64," + base64.b64encode(to_png(pixels)).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
