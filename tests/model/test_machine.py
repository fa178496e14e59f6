"""A thread whose floats are not rounded to nearest, or not kept where they are small, proves nothing, and says so.

In processes of their own: the settings would stay with the thread.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from children import PATIENCE
from cli_runs import quiet
from exactformer.model import machine

MODES = {"downward": 0x400, "upward": 0x800, "toward zero": 0xC00}  # of fesetround
FLUSHED = {"FTZ": 0x8000, "DAZ": 0x40}  # bits of MXCSR
intel = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="its modes are set by numbers of Linux on x86-64"
)

SETTINGS = """
import ctypes, mmap, sys, threading

def rounding(mode):
    assert ctypes.CDLL("libm.so.6").fesetround(mode) == 0

_code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
_code.write(bytes.fromhex("0fae17c3"))  # ldmxcsr [rdi]; ret
_load = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(_code)))

def flushing(bits):
    _load(ctypes.addressof(ctypes.c_uint32(0x1F80 | bits)))
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    return subprocess.run(
        [sys.executable, "-c", SETTINGS + textwrap.dedent(program)], capture_output=True, text=True, timeout=PATIENCE,
        env=os.environ | threads | environment,
    )  # fmt: skip


PROOFS = """
import json
from exactformer.certificates import Prepared, certify, prove_token
from exactformer.certificates.hash import model_hash
from exactformer.model import ConfigError, Model
from exactformer.proofs.cases import Case
from exactformer.worksheets import load

model = load("capstone").model
ready = Prepared(model)
ready.prepare()
found = certify(model, [0, 1])
works = {
    "prove_token": lambda: prove_token(model, [0, 1], prepared=ready),
    "hash": lambda: model_hash(Model(model.config, model.weights)),
    "prepare": lambda: Prepared(model).prepare(),
    "verify": lambda: found.verify(model, ready),
    **{f"case {name}": (lambda name=name: Case(model, name)(("a", "b"))) for name in ("exact", "arb", "certified")},
}

def told(setting, *value):
    said = {}
    for name, work in works.items():
        setting(*value)
        try:
            work()
            said[name] = ""
        except ConfigError as error:
            said[name] = str(error)
        finally:
            setting(0)
    return said

results = {"": told(rounding, 0)}
for mode in (0x400, 0x800, 0xC00):
    results[f"rounding {mode:#x}"] = told(rounding, mode)
for bits in (0x8000, 0x40):
    results[f"flushing {bits:#x}"] = told(flushing, bits)

def elsewhere():
    rounding(0x800)
    results["another thread"] = told(lambda mode: None, 0)

thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
results["here"] = told(rounding, 0)
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, str]]:
    """What each kind of proof says in each setting; "" where it goes on."""
    done = run(PROOFS)
    assert done.returncode == 0, done.stderr
    said: dict[str, dict[str, str]] = json.loads(done.stdout)
    return said


@intel
@pytest.mark.parametrize("mode", MODES)
def test_another_rounding_mode_is_refused_by_every_proof(mode: str, results: dict[str, dict[str, str]]) -> None:
    said = results[f"rounding {MODES[mode]:#x}"]
    assert len(said) == 7
    assert all(line.startswith("the machine: floats are not rounded to nearest in this thread") for line in said.values()), said


@intel
@pytest.mark.parametrize("bit", FLUSHED)
def test_floats_that_are_flushed_to_0_are_refused_by_every_proof(bit: str, results: dict[str, dict[str, str]]) -> None:
    said = results[f"flushing {FLUSHED[bit]:#x}"]
    assert all(line.startswith("the machine: floats below 2^-1022 are taken for 0 in this thread") for line in said.values()), said


@intel
def test_the_thread_that_computes_is_looked_at(results: dict[str, dict[str, str]]) -> None:
    assert all("not rounded to nearest" in line for line in results["another thread"].values())
    assert set(results["here"].values()) == set(results[""].values()) == {""}


@intel
@pytest.mark.parametrize("setting", ["rounding(0x400)", "rounding(0x800)", "rounding(0xC00)", "flushing(0x8000)", "flushing(0x40)"])
def test_every_thread_of_blas_is_looked_at(setting: str) -> None:
    """Threads begin with the settings of the one that starts them: BLAS starts its own when NumPy is imported."""
    back = setting.partition("(")[0] + "(0)"
    done = run(f"""
        {setting}
        import numpy
        {back}
        from exactformer.model import machine
        machine.check()
        try:
            machine.check(blas=True)
        except machine.MachineError as error:
            print(error)
    """)
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("BLAS has one thread here")
    assert "a thread of BLAS rounds otherwise" in done.stdout, done.stderr


@intel
def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    """Rounding upwards, a logit of the capstone was enclosed where it is not."""
    program = "from exactformer import cli\nrounding(0x800)\nsys.argv = ['exactformer', 'certify', 'capstone']\ncli.main()"
    done = run(program, XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = quiet(done.stderr).splitlines()
    assert line.startswith("exactformer: the machine: floats are not rounded to nearest")


def test_floats_themselves_compute_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from exactformer.worksheets import load

    def refused(blas: bool = False) -> None:
        raise machine.MachineError("floats are not floats")

    monkeypatch.setattr(machine, "check", refused)
    assert load("capstone").trace("a b", "float64").token(1) == "a"
    with pytest.raises(machine.MachineError, match=r"^the machine: floats are not floats; nothing can be proved here$"):
        load("capstone").trace("a b")


@pytest.mark.parametrize("threads", [1, 2, 7, 64])
def test_the_product_has_a_row_of_each_kind_for_every_thread(threads: int) -> None:
    a, b, expected = machine._product(threads)
    assert len(a) >= 32 * threads
    assert len(a) * a.shape[1] * b.shape[1] > 10**6
    assert (a @ b).tobytes() == expected


@intel
@pytest.mark.parametrize("setting", [*map("rounding({})".format, MODES.values()), *map("flushing({})".format, FLUSHED.values())])
def test_what_is_told_of_a_pass_cannot_change_its_floats(setting: str) -> None:
    """A note, or a report of progress, runs anybody's code in the middle of a pass."""
    program = f"""
    from exactformer.certificates import Prepared
    from exactformer.certified import CertifiedArithmetic
    from exactformer.model import ConfigError, forward
    from exactformer.worksheets import load

    model = load("capstone").model

    def note(step):
        if step.name == "embed":
            {setting}
        return step.values

    told = lambda: forward(model, [0, 1], CertifiedArithmetic(), note)
    progress = lambda: Prepared(model).prepare(lambda step: {setting})
    for attempt in (told, progress):
        try:
            attempt()
            print("believed")
        except ConfigError as error:
            print("refused" if "nothing can be proved here" in str(error) else error)
        rounding(0)
        flushing(0)
    """
    assert run(program).stdout.split() == ["refused", "refused"]
