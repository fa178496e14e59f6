"""A mistake of the program itself is told apart from a refuted claim and from bad input: status 70, one line, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from children import PATIENCE
from exactformer import __version__
from exactformer.internal import DEBUG, internal_error

BROKEN = """
    import sys
    import exactformer.worksheets

    def load(source, reading="ideal"):
        raise TypeError("a\\nmistake" + "!" * 1000)

    exactformer.worksheets.load = load
    from exactformer.cli import main

    sys.argv = ["exactformer", *sys.argv[1:]]
    main()
"""


def run(program: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", dedent(program), *args],
        capture_output=True, text=True, timeout=PATIENCE, check=False, env={**os.environ, DEBUG: "", **environment},
    )  # fmt: skip


def test_one_line_with_the_version() -> None:
    done = run(BROKEN, "trace", "capstone")
    assert (done.returncode, done.stdout) == (70, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"exactformer: internal error (exactformer {__version__}): TypeError: a mistake!!!")
    assert line.endswith("exactformer --debug … shows the traceback)")
    assert len(line) < 500


@pytest.mark.parametrize(("args", "environment"), [(("--debug", "trace", "capstone"), {}), (("trace", "capstone"), {DEBUG: "1"})])
def test_the_traceback_is_shown_on_request(args: tuple[str, ...], environment: dict[str, str]) -> None:
    done = run(BROKEN, *args, **environment)
    assert done.returncode == 70
    assert done.stderr.startswith("exactformer: Traceback (most recent call last):\n")
    assert 'raise TypeError("a\\nmistake"' in done.stderr or "in load" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"internal error (exactformer {__version__}): TypeError: a mistake")


WORKER = """
    import sys
    from exactformer.proofs import runner
    import exactformer.proofs.theorem

    def compute(case):
        return [][case]

    if __name__ == "__main__":
        import exactformer.worksheets
        exactformer.worksheets.load = lambda source, reading: list(runner.run(compute, [7], fingerprint="x", workers=WORKERS))
        from exactformer.cli import main

        sys.argv = ["exactformer", *sys.argv[1:]]
        main()
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_in_a_worker_process_counts_as_ours(workers: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(dedent(WORKER).replace("WORKERS", str(workers)))
    for debug in ("", "1"):
        done = subprocess.run(
            [sys.executable, str(program), "trace", "capstone"],
            capture_output=True, text=True, timeout=PATIENCE, check=False, env={**os.environ, DEBUG: debug},
        )  # fmt: skip
        assert done.returncode == 70, done.stderr
        last = done.stderr.splitlines()[-1]
        assert f"internal error (exactformer {__version__}): CaseError: case 0 (7): IndexError: list index out of range" in last
        assert ("in compute" in done.stderr) == bool(debug)
        assert (len(done.stderr.splitlines()) == 1) == (not debug)


def test_a_worker_of_the_page_says_which(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from exactformer.web import tasks
    from exactformer.web.worker import _answer

    monkeypatch.setattr(tasks, "run", lambda name, arguments: {}["missing"])
    status, body = _answer(tasks, "trace", {}, 2**30)
    assert (status, body) == (500, b'{"error":"the server made a mistake; its terminal says which"}')
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"exactformer: internal error (exactformer {__version__}): KeyError: 'missing'")


def test_without_a_message() -> None:
    assert "): AssertionError; " in internal_error(AssertionError())
