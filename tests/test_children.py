"""Children can be interrupted, however the tests were started."""

from __future__ import annotations

import signal
import subprocess
import sys

from children import PATIENCE, interruptible

PROGRAM = "import time; print('ready', flush=True); time.sleep(60)"


def test_a_child_is_interrupted_though_its_parent_ignores_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in `make test &`
    try:
        with interruptible([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=PATIENCE)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert (child.returncode, errors.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
