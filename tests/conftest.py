"""Helpers of the tests are imported by their plain names, and the trials among the benchmarks as such."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
