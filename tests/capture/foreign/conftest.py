"""The oracles importable by the tests here, those for numpy among them."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "numpy")]
