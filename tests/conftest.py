"""No example of hypothesis fails because the machine has other work; nobody says how wide a terminal is.

PyTorch takes no instructions in 16 bits that a virtual machine announces and does not have.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")  # readline, which pytest imports, says it to children behind Python's back
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")  # without AMX
