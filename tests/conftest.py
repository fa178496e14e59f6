"""Helpers of the tests are imported by their plain names, and the trials among the benchmarks as such; no example of hypothesis
fails because the machine has other work."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
