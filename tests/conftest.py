"""No example of hypothesis fails because the machine has other work; nobody says how wide a terminal is.

What is kept in the cache is neither the user's nor that of tests that run at the same time, which may prove the same theorem.
PyTorch takes no instructions in 16 bits that a virtual machine announces and does not have.
"""

import os
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

_cache = tempfile.TemporaryDirectory(prefix="exactformer-cache-", ignore_cleanup_errors=True)
os.environ["XDG_CACHE_HOME"] = _cache.name

os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")  # readline, which pytest imports, says it to children behind Python's back
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")  # without AMX


def pytest_unconfigure() -> None:
    _cache.cleanup()
