"""exactformer certify as a user meets it: what it prints, how it ends, what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from certify_tools import PROGRAM, run, write_model

from children import PATIENCE, interruptible
from exactformer.certificates.certificate import Certificate
from exactformer.certified import OutOfRangeError
from exactformer.certified.limbs import FEWEST, MOST
from exactformer.checkpoints import open_checkpoint
from exactformer.cli.certify import command as certify_command
from exactformer.decoding import generate as continued
from exactformer.render.certificates import sparkline
from exactformer.worksheets.worksheet import example_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(tmp_path_factory.mktemp("model") / "m"))


@pytest.fixture(scope="module")
def tokens(folder: str) -> list[int | None]:
    """What another arithmetic says: balls."""
    return [choice.id for choice in continued(open_checkpoint(folder).model, [3, 4, 5], steps=3, arithmetic="arb")]


def test_text_tells_tokens_margins_digits_bits_and_radii(folder: str, tokens: list[int]) -> None:
    done = run(folder, "--ids", "3 4 5", "--max", "3", "--top", "4")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("m: what follows #3 #4 #5 (3 tokens)\n\ntoken 1: ")
    assert re.findall(r"token \d: (#\d+), proved", done.stdout) == [f"#{token}" for token in tokens]
    parts = done.stdout.split("\ntoken ")[1:]
    for part in parts:
        assert re.search(r"^  margin  \d+\.\d+ over #\d+$", part, re.MULTILINE)
        assert len(re.findall(r"#\d+ +-?\d+\.\d{3,}$", part, re.MULTILINE)) == 4
        assert re.search(r"^  bits    \d+", part, re.MULTILINE)
        assert re.search(r"^  radius  [▁▂▃▄▅▆▇█]{4}  \S+ to \S+$", part, re.MULTILINE)


def test_digits_that_are_told_are_those_of_the_network(folder: str) -> None:
    """A float64 pass is right to ten digits here: all that are proved must be its digits."""
    from exactformer.arithmetics import arithmetic
    from exactformer.model import forward

    logits = forward(open_checkpoint(folder).model, [3, 4, 5], arithmetic("float64"), lambda step: step.values)
    told = re.findall(r"#(\d+) +(-?\d+\.(\d+))$", run(folder, "--ids", "3,4,5").stdout, re.MULTILINE)
    assert len(told) == 5
    for token, digits, decimals in told:
        assert abs(float(digits) - logits[-1, int(token)]) <= 0.5 * 10.0 ** -len(decimals) + 1e-12


def test_the_certificate_is_written_and_verified(folder: str, tokens: list[int], tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    options = (folder, "--ids", "3 4 5", "--max", "3", "--format", "json")
    assert run(*options, "-o", str(path)) == (0, "", "")
    assert run(*options).stdout == path.read_text(encoding="utf-8")
    assert list(Certificate.load(path).continuation) == tokens
    done = run(folder, "--verify", str(path))
    assert done == (0, f"confirmed: {path}: 3 tokens, every claim proved again by new passes\n", "")
    text = path.read_text(encoding="utf-8")
    line = next(n for n, line in enumerate(text.splitlines(), start=1) if '"margin"' in line)
    path.write_text(re.sub(r'("margin": \["\d\.\d\d)\d', lambda m: m[1] + "0", text, count=1), encoding="utf-8")
    done = run(folder, "--verify", str(path))
    assert (done.returncode, done.stderr) == (1, "")
    first, second, *rest = done.stdout.splitlines()
    assert first.endswith("sha256: the checksum does not fit: the file was changed after it was written")
    assert second.endswith(": check: does not follow from the rest of the certificate")  # whose margin is now the larger one
    assert rest[0] == "this may be what was changed:"
    assert rest[1].startswith(f"  line {line}: tokens[0].margin[0]: says ")
    assert len(rest) == 2


def test_another_model_is_refused(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    run(folder, "--ids", "3", "--format", "json", "-o", str(path))
    done = run("capstone", "--verify", str(path))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"refused: {path}, line 5: model.sha256: is that of another model")
    assert done.stdout.count("\n") == 1


def test_reports_hold_the_certificate_and_are_none(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = run(folder, "--ids", "3 4", "--compare", "float32,float64", "--audit", "--format", "json", "-o", str(path))
    assert done.returncode == 0
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["format"] == "exactformer certified report 1"
    assert report["audit"]["agrees"]
    assert [errors["arithmetic"] for errors in report["floats"]] == ["float32", "float64"]
    for errors in report["floats"]:
        assert errors["right"] is True
        assert errors["steps"][-1]["name"] == "logits"
        low, high = map(float, errors["steps"][-1]["largest_error"])
        assert 0 < low <= high < 1.01 * low
        assert all(0 <= float(each["error"][0]) <= float(each["error"][1]) for each in errors["logits"])
    single, double = (float(errors["steps"][-1]["largest_error"][1]) for errors in report["floats"])
    assert double < 1e-7 * single
    (tmp_path / "c.json").write_text(json.dumps(report["certificate"]), encoding="utf-8")
    assert run(folder, "--verify", str(tmp_path / "c.json")).returncode == 0
    assert run(folder, "--verify", str(path)).returncode == 2


def test_comparison_in_text(folder: str) -> None:
    done = run(folder, "--ids", "3 4", "--max", "2", "--compare", "float32")
    assert done.returncode == 0
    assert "float32 beside a certified pass of" in done.stdout
    assert re.search(r"^  logits +\d\.\d{3}e-[678] ", done.stdout, re.MULTILINE)
    assert re.search(r"^  grows most from \S+ to \S+: × ", done.stdout, re.MULTILINE)
    assert len(re.findall(r"token after position [12]: #\d+, the true one", done.stdout)) == 2


def test_wrong_tokens_in_floats_are_found(tmp_path: Path) -> None:
    """Rows of the unembedding whose logits differ by less than float32 can tell: the proved token is another."""
    found: set[str] = set()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        row = rng.standard_normal(8).astype(np.float32)
        rows = row + np.spacing(row) * rng.integers(-1, 2, (40, 8)).astype(np.float32)
        folder = write_model(tmp_path / str(seed), tensors={"wte.weight": rows})
        done = run(str(folder), "--ids", "3 4", "--compare", "float32", "--top", "2")
        if done.returncode == 0:
            found |= set(re.findall(r"the true one|WRONG", done.stdout))
    assert "WRONG" in found


def test_ties_are_told_as_ties(tmp_path: Path) -> None:
    rows = np.tile(np.random.default_rng(4).standard_normal((20, 8)).astype(np.float32), (2, 1))
    folder = write_model(tmp_path / "m", tensors={"wte.weight": rows})
    done = run(str(folder), "--ids", "3 4", "--audit")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"token 1: #(\d+), proved to tie with #\d+\n  margin  0: the logits are the same number\n", done.stdout)


def test_undecided_is_status_3_and_one_line() -> None:
    for form in ("text", "json", "html"):
        done = run("capstone", "--prompt", "c b", "--format", form, "--audit", "--compare", "float32")
        assert done.returncode == 3
        assert done.stderr.startswith("exactformer: token 1: undecided: ")
        assert done.stderr.count("\n") == 1
        assert "undecided" in done.stdout


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or (value or "").startswith(("http", "//", "javascript")) for name, value in attrs)


def test_the_page_has_a_plot_and_no_script(tmp_path: Path) -> None:
    sheet = Path(__file__).parent.parent.parent / "src/exactformer/worksheets/examples/capstone.toml"
    text = sheet.read_text(encoding="utf-8").replace("The whole transformer, by hand", "<script>alert(1)</script> & co")
    hostile = text.replace('"a"', '"<b>"').replace('tokens = "a b"', 'tokens = "<b> b"')
    (tmp_path / "x.toml").write_text(hostile, encoding="utf-8")
    done = run(str(tmp_path / "x.toml"), "--format", "html", "--compare", "float64", "--audit")
    assert (done.returncode, done.stderr) == (0, "")
    parser = _Page()
    parser.feed(done.stdout)
    assert "script" not in parser.tags
    assert "b" not in parser.tags
    assert "&lt;script&gt;" in done.stdout
    drawing = ElementTree.fromstring(re.findall(r"<svg.*?</svg>", done.stdout, re.DOTALL)[0])
    lines = [node for node in drawing if node.tag == "polyline"]
    assert [line.get("class") for line in lines] == ["unit", "radius"]
    assert len((lines[1].get("points") or "").split()) == parser.tags.count("circle") >= 3


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["capstone", "--prompt", "a", "--ids", "0"], "--ids: does not go with --prompt"),
        (["capstone", "--ids", "0 3"], "--ids: position 1: no token has the id 3: the vocabulary has 0 to 2"),
        (["capstone", "--ids", "-1"], "--ids: '-1' is not the id of a token"),
        (["capstone", "--ids", " , "], "--ids: is empty"),
        (["capstone", "--prompt", " "], "the prompt is empty"),
        (["capstone", "--prompt", "z"], "'z'"),
        (["capstone", "--tokens", "5"], "--tokens: 5 is not a count any more: --max 5 proves that many tokens"),
        (["capstone", "--max", "0"], "--max: 0 is not a whole number from 1 to "),
        (["capstone", "--max", "２"], "--max: '２' is not a whole number"),
        (["capstone", "--max", "2"], "2 tokens given and 2 to prove take 3 positions; the model has 2"),
        (["capstone", "--cap", "3"], "--cap"),
        (["capstone", "--cap", "26"], "--cap: 26 is not a whole number from 4 to 25"),
        (["capstone", "--top", "0"], "--top"),
        (["capstone", "--compare", "int8"], "--compare: 'int8' is not one of float16, bfloat16, float32, float64"),
        (["capstone", "--compare", ""], "--compare: '' is not one of"),
        (["length4"], "length4: the model has no logits"),
        (["capstone", "--verify", "none.json"], "none.json: there is no such file"),
        (["capstone", "--verify", "none.json", "--tokens", "a"], "--tokens: does not go with --verify"),
        (["capstone", "--verify", "none.json", "--max", "1"], "--max: does not go with --verify"),
        (["capstone", "--verify", "none.json", "--expect", "x.npy"], "--expect: does not go with --verify"),
        (["capstone", "--verify", "none.json", "--format", "text"], "--format: does not go with --verify"),
        (["capstone", "--verify", "."], ".: is not a file"),
        (["no-such-folder"], "no-such-folder: there is no such file"),
        (["capstone", "-o", "no/such/folder.txt"], "no/such/folder.txt: there is no such folder to write to"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(args: list[str], problem: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exactformer: ")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    bias = np.zeros(8, dtype=np.float32)
    bias[3] = np.nan
    done = run(str(write_model(tmp_path / "m", tensors={"ln_f.bias": bias})), "--ids", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ln_final.b: has an entry that is infinite or not a number" in done.stderr


def test_text_in_a_file_is_what_is_shown(folder: str, tmp_path: Path) -> None:
    options = (folder, "--ids", "3 4", "--max", "2", "--compare", "float32", "--audit")
    assert run(*options, "-o", str(tmp_path / "told.txt")) == (0, "", "")
    assert (tmp_path / "told.txt").read_text(encoding="utf-8") == run(*options).stdout


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_interruption_keeps_what_was_proved(form: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", positions=3000)
    options = ["certify", str(folder), "--ids", "3 4", "--max", "2990", "--top", "2", "--format", form]
    output = tmp_path / "c.json"
    options += ["-o", str(output)] if form == "json" else []
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with interruptible(
        [sys.executable, "-c", PROGRAM, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        shown = b""
        while form == "text" and shown.count(b"\ntoken ") < 3:
            shown += os.read(running.stdout.fileno(), 65536)
            assert running.poll() is None
        while form == "json" and not re.search(rb"last token (?![12]:)\d", running.stderr.readline()):  # so that two are proved
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        rest, problem = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, problem
    told = re.search(
        r"exactformer: interrupted: the ([\d,]+) tokens (?:shown|in \S+) are proved; to go on, give --ids ", problem.decode()
    )
    assert told, problem
    count = int(told[1].replace(",", ""))
    assert count >= 1
    if form == "json":
        assert len(Certificate.load(output).continuation) == count
    else:
        assert (shown + rest).decode().count("\ntoken ") == count


def test_a_sparkline_of_nothing_and_of_one() -> None:
    assert sparkline([]) == ""
    assert sparkline([3.0]) == "▁"
    assert sparkline([float("-inf"), 0.0, 1.0]) == "▁▁█"


def test_an_undecided_certificate_is_confirmed_as_undecided(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    assert run("capstone", "--prompt", "c b", "--format", "json", "-o", str(path)).returncode == 3
    done = run("capstone", "--verify", str(path))
    assert done.returncode == 3
    assert done.stdout.startswith(f"confirmed: {path}: 0 tokens")
    assert done.stderr.startswith("exactformer: token 1: undecided")


@pytest.mark.large
def test_norms_that_are_kept_are_not_asked_to_confirm_themselves(folder: str, tmp_path: Path, own_cache: Path) -> None:
    """Norms beyond all measure, with a checksum that fits: a pass believes them and proves nothing; --verify does not read them."""
    from exactformer.certificates.storage import read, write

    path = tmp_path / "c.json"
    options = (folder, "--ids", "3 4 5", "--format", "json", "-o", str(path))
    assert run(*options).returncode == 0
    (kept,) = own_cache.glob("*.json")
    digest = kept.name.partition("-")[0]
    found = read(kept, digest)
    assert found
    write(kept, digest, dict.fromkeys(found[0], 2.0**300), found[1])
    assert run(*options[:-2]).returncode == 3
    assert run(folder, "--verify", str(path)).returncode == 0


def test_a_preparation_that_leaves_the_range_is_left_to_the_pass(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scout reads tokens that the input need not have."""

    def beyond(*given: object) -> None:
        raise OutOfRangeError("a value beyond 2^20")

    expected = run(folder, "--ids", "3 4").stdout.splitlines()[0]
    monkeypatch.setattr("exactformer.certificates.preparation.scout", beyond)
    found = run(folder, "--ids", "3 4")
    assert (found.returncode, found.stdout.splitlines()[0], found.stderr) == (0, expected, "")


@pytest.mark.parametrize("weight", ["1e30", "1e400"])
def test_weights_beyond_all_measure_are_undecided(weight: str, tmp_path: Path) -> None:
    sheet = tmp_path / "large.toml"
    large = f'mlp = {{ W_in = [["{weight}", 0], [0, 1]], W_out = "identity" }}'
    sheet.write_text(example_text("capstone").replace('mlp = { W_in = "identity", W_out = "identity" }', large), encoding="utf-8")
    told = run(str(sheet))
    assert (told.returncode, told.stderr.count("\n")) == (3, 1)
    assert told.stderr.startswith("exactformer: token 1: undecided: ")


def test_a_matrix_in_many_slices_is_undecided() -> None:
    """Thirds have no end in binary: as many slices as there are, and a thousand rows."""
    from exactformer.certified.slices import from_integers

    thirds = np.full((1000, 1), (1 << 336) // 3, dtype=object)
    assert from_integers(thirds[:500], 336).count > 10
    with pytest.raises(OutOfRangeError, match=r"1,000 rows in \d+ slices"):
        from_integers(thirds, 336)


def test_the_cap_is_that_of_certified_passes() -> None:
    (cap,) = (option for option in certify_command.params if option.name == "cap")
    assert (cap.type.min, cap.type.max, cap.default) == (FEWEST, MOST, MOST)  # type: ignore[attr-defined]
