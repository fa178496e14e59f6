"""The checker as a program: on every Python that is here, by `certify --independent`, and its statuses."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from gpt2_files import small_tensors, write_folder

import exactformer_check
from cli_runs import run as cli
from exactformer.certificates.certificate import Certificate
from exactformer.hashing import checksum
from exactformer.worksheets import load
from exactformer.worksheets.models import model_folder

ROOT = Path(__file__).parents[2]
CHECKER, CERTIFICATE = ROOT / "src" / "exactformer_check.py", ROOT / "docs" / "stories-certificate.json"
STORIES = model_folder("stories")


def pythons() -> list[str]:
    """Every CPython from 3.9 on that is installed: 3.11 is demanded, and the two before it cost nothing."""
    found = {(3, sys.version_info.minor): sys.executable}
    places = [
        *Path.home().glob(".pyenv/versions/*/bin/python3"),
        *Path("/usr/bin").glob("python3"),
        *Path("/usr/local/bin").glob("python3"),
    ]
    places += [Path(path) for minor in range(9, 30) if (path := shutil.which(f"python3.{minor}"))]
    for path in places:
        said = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False)
        if said.returncode == 0 and (version := tuple(map(int, said.stdout.split()))) >= (3, 9):
            found.setdefault(version, str(path))  # type: ignore[arg-type]
    return [found[version] for version in sorted(found)]


def quiet(said: str) -> str:
    """Without the signs of life that are given on a slow machine."""
    return re.sub(r"(?m)^block \d+ of \d+, .*\n", "", said)


def run(*arguments: Any, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([python, "-I", CHECKER, *map(str, arguments)], capture_output=True, text=True, check=False)
    done.stderr = quiet(done.stderr)
    return done


@pytest.mark.parametrize("python", pythons())
def test_every_python_accepts_it(python: str) -> None:
    done = run(CERTIFICATE, STORIES, python=python)
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, "accepted: proved", "")


def test_it_is_one_file_of_the_standard_library() -> None:
    source = CHECKER.read_text(encoding="utf-8")
    modules = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    assert modules <= set(sys.stdlib_module_names)
    assert max(map(len, source.splitlines())) <= 100


def test_the_certificate_of_the_readme_is_what_certify_says() -> None:
    certificate = Certificate.load(CERTIFICATE)
    assert certificate.verify(load("stories").model).confirmed
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "python src/exactformer_check.py docs/stories-certificate.json src/exactformer/models/stories" in readme
    done = run(CERTIFICATE, STORIES)
    for line in done.stdout.splitlines():
        assert line in readme


@pytest.mark.parametrize(
    "change",
    [
        {"ids": [346, 348, 261, 327, 12, 405]}, {"claims": [{"position": 3, "token": 13, "margin": "1"}]},
        {"claims": [{"position": 3, "token": 12, "margin": "11.5"}]}, {"claims": [{"position": 2, "token": 12, "margin": "1"}]},
        {"claims": []}, {"claims": [{"position": 3, "token": 12, "margin": "1"}]},
    ],
)  # fmt: skip
def test_certify_refuses_a_check_that_does_not_follow(change: dict[str, Any], tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    document["check"] |= change
    (tmp_path / "c.json").write_text(json.dumps(document | {"sha256": checksum(document)}))
    done = cli("certify", "stories", "--verify", str(tmp_path / "c.json"))
    assert done.returncode == 1
    assert "check: does not follow from the rest of the certificate" in done.stdout
    done = cli("certify", "stories", "--verify", str(tmp_path / "c.json"), "--independent")
    assert done.returncode == 1
    assert "check: does not follow from the rest of the certificate" in done.stdout
    assert "accepted" not in done.stdout


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model": {"sha256": "0" * 64}}, "model.sha256: is that of another model"),
        (
            {"check": {"files": {"config.json": "0" * 64, "model.safetensors": "0" * 64}}},
            "config.json has another SHA-256 in the folder",
        ),
        ({"check": {"reading": "stored"}}, "model.sha256: is that of another model"),
    ],
)
def test_independent_is_about_this_model(change: dict[str, dict[str, Any]], problem: str, tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    for name, fields in change.items():
        document[name] |= fields
    (tmp_path / "c.json").write_text(json.dumps(document | {"sha256": checksum(document)}))
    done = cli("certify", "stories", "--verify", str(tmp_path / "c.json"), "--independent")
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 1)
    assert problem in done.stdout


def test_a_certificate_without_check_has_nothing_for_it(tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    del document["check"]
    (tmp_path / "c.json").write_text(json.dumps(document))
    done = run(tmp_path / "c.json", STORIES)
    assert (done.returncode, done.stderr) == (2, "bad input: the certificate: has no field check\n")
    made = cli("certify", "capstone", "--format", "json", "-o", str(tmp_path / "capstone.json"))
    assert made.returncode == 0
    done = cli("certify", "stories", "--verify", str(tmp_path / "capstone.json"), "--independent")
    assert done.returncode == 2
    assert "capstone.json: has nothing for the checker" in done.stderr


def test_a_file_that_was_changed_is_not_given_to_the_checker(tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    document["tokens"][1]["margin"] = ["0.001", "0.002"]
    file = tmp_path / "c.json"
    for text, why in (
        (document, "sha256: the checksum does not fit"),
        (document | {"sha256": checksum(document)}, "check: does not follow from"),
    ):
        file.write_text(json.dumps(text))
        done = cli("certify", "stories", "--verify", str(file), "--independent")
        assert (done.returncode, len(done.stdout.splitlines())) == (1, 1)
        assert done.stdout.startswith("refused: ")
        assert why in done.stdout


@pytest.mark.parametrize(
    ("change", "refused", "noted"),
    [
        ({"bits": 230}, "", "check.bits: says 230, a new run "),
        ({"margin": "9.5"}, "", "check.claims[0].margin: says 9.5, a new run 11."),
        ({"margin": "99.5"}, "check: does not follow from the rest of the certificate", "check.claims[0].margin: says 99.5"),
        ({"files": {}}, "check.files: config.json is missing", ""),
    ],
)
def test_what_was_changed_in_a_check_is_named(change: dict[str, Any], refused: str, noted: str, tmp_path: Path) -> None:
    """And nothing beside it that an intact file differs in, too."""
    document = json.loads(CERTIFICATE.read_text())
    place = document["check"]["claims"][0] if "margin" in change else document["check"]
    place.update(change)
    (tmp_path / "c.json").write_text(json.dumps(document, indent=1))
    done = cli("certify", "stories", "--verify", str(tmp_path / "c.json"))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    wanted = ["sha256: the checksum does not fit", refused, *["this may be what was changed:", noted] * bool(noted)]
    for line, part in zip(lines, filter(None, wanted), strict=True):
        assert part in line
        assert line.startswith("refused: ") == (part not in wanted[2:])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda check: {"files": dict.fromkeys(check["files"], "0" * 64)}, "config.json has another SHA-256 in the folder"),
        (lambda check: {"files": {"config.json": check["files"]["config.json"]}}, "is missing"),
        (lambda check: {"files": check["files"] | {"other.json": "0" * 64}}, "other.json is not a file of this model"),
        (lambda check: {"reading": "stored"}, "check.reading: is 'stored'"),
    ],
)
def test_certify_refuses_a_check_of_other_files(change: Any, problem: str, tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    document["check"] |= change(document["check"])
    (tmp_path / "c.json").write_text(json.dumps(document | {"sha256": checksum(document)}))
    done = cli("certify", "stories", "--verify", str(tmp_path / "c.json"))
    assert done.returncode == 1
    assert problem in done.stdout


def changed(path: Path, **changes: Any) -> Path:
    """The certificate with another check."""
    document = json.loads(CERTIFICATE.read_text())
    document["check"] |= changes
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_no_mistake(option: str) -> None:
    done = run(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert "exactformer_check.py CERTIFICATE MODEL_FOLDER [--witness FILE] [--processes N]" in done.stdout


def test_statuses(tmp_path: Path) -> None:
    claims = json.loads(CERTIFICATE.read_text())["check"]["claims"]
    larger = changed(tmp_path / "larger.json", claims=[claims[0] | {"margin": "99.5"}])
    negative = changed(tmp_path / "negative.json", claims=[claims[0] | {"margin": "-1"}])
    few, fewest = changed(tmp_path / "few.json", bits=48), changed(tmp_path / "fewest.json", bits=32)
    unreadable = changed(tmp_path / "unreadable.json", bits="many")
    for arguments, status, said in (
        ((larger, STORIES), 1, "refused: token 12 after position 3 is not shown to lead by 99.5: what is shown is 11.39"),
        ((negative, STORIES), 2, "bad input: the certificate: claims: a margin is negative"),
        ((few, STORIES), 1, "refused: "),
        ((fewest, STORIES), 1, "refused: "),
        ((unreadable, STORIES), 2, "bad input: the certificate: bits"),
        ((CERTIFICATE, tmp_path), 2, "bad input: "),
        ((tmp_path / "none.json", STORIES), 2, "bad input: "),
        ((CERTIFICATE,), 2, "usage: "),
        ((CERTIFICATE, STORIES, "--processes", "0"), 2, "bad input: --processes: is not from 1 to 256"),
        ((CERTIFICATE, STORIES, "--processes", "two"), 2, "usage: "),
        ((CERTIFICATE, STORIES, "--witness", CERTIFICATE), 1, "refused: the witness"),
        ((CERTIFICATE, STORIES, "--witness", ""), 2, "bad input: "),
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (status, "")
        assert done.stderr.startswith(said)
        assert len(done.stderr.splitlines()) == 1 or said == "usage: "


def test_what_is_shown_of_a_lead_may_be_less_than_floats_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for lead, shown in (
        (Fraction(-(10**400)), f" with {json.loads(CERTIFICATE.read_text())['check']['bits']} bits"),
        (Fraction(-1, 3), ": what is shown is -0.333334 or more"),
    ):
        monkeypatch.setattr(exactformer_check.Network, "leads", lambda *_, lead=lead: [lead] * 3)
        assert exactformer_check.main([str(CERTIFICATE), str(STORIES)]) == 1
        assert capsys.readouterr().err.endswith(f"{shown}\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bits": 300.5}, "bits: is not from 32 to 4000"),
        ({"margins": []}, "'margins': is missing, or not known here"),
        ({"claims": [{"position": 3, "token": 12, "margin": "NaN"}]}, "claims: 'NaN' is no decimal, or has too many digits"),
        ({"claims": [{"position": 3, "token": 12, "margin": "-0"}]}, "claims: a margin is negative"),
        ({"claims": [{"position": 3, "token": 12, "margin": float("nan")}]}, "'NaN' is no decimal, or has too many digits"),
        ({"files": {"../config.json": ""}}, "files: are not said"),
        ({"files": {"config.json": "", "../other": ""}}, "files: '../other' is no name of a file"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    if "files" in changes and "config.json" in changes["files"]:
        changes["files"]["config.json"] = hashlib.sha256((STORIES / "config.json").read_bytes()).hexdigest()
    done = run(changed(tmp_path / "c.json", **changes), STORIES)
    assert (done.returncode, done.stderr) == (2, f"bad input: the certificate: {said}\n")


def test_a_check_needs_the_rest_of_a_certificate_or_nothing_beside_it(tmp_path: Path) -> None:
    check = json.loads(CERTIFICATE.read_text())["check"]
    for document, status in ((check, 0), ({"check": check}, 2), ({"check": 1}, 2)):
        (tmp_path / "c.json").write_text(json.dumps(document))
        done = run(tmp_path / "c.json", STORIES)
        assert done.returncode == status
        assert not done.stderr or re.fullmatch(
            r"bad input: the certificate: (ids, tokens: are not as|check: is not).*\n", done.stderr
        )


def test_a_shape_that_config_does_not_say(tmp_path: Path) -> None:
    config = json.loads((STORIES / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + 1}))
    shutil.copy(STORIES / "model.safetensors", tmp_path)
    files = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("config.json", "model.safetensors")}
    done = run(changed(tmp_path / "c.json", files=files), tmp_path)
    shape = f"[{config['vocab_size'] + 1}, {config['hidden_size']}]"
    assert done.stderr.endswith(f".weight: is missing, or has not floats of the shape {shape}\n")


@pytest.mark.parametrize("length", [0, 7, 9])
def test_a_file_that_is_too_short_for_a_header(length: int, tmp_path: Path) -> None:
    shutil.copy(STORIES / "config.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(bytes(length))
    files = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("config.json", "model.safetensors")}
    done = run(changed(tmp_path / "c.json", files=files), tmp_path)
    assert (done.returncode, done.stderr) == (2, "bad input: model.safetensors: is cut off, or no safetensors file\n")


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb"])
def test_messages_are_one_line_that_does_nothing_to_a_terminal(name: str) -> None:
    done = run(name, STORIES)
    assert (done.returncode, done.stderr) == (2, f"bad input: {name[0]}?{name[2:]}: there is no such regular file\n")


def test_shards_beside_a_whole_file_are_bad_input(tmp_path: Path) -> None:
    """Other programs read the whole file, so the shards would be another network than theirs."""
    folder = tmp_path / "model"
    shutil.copytree(STORIES, folder)
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    with (folder / "other.safetensors").open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    index = {"weight_map": dict.fromkeys(header.keys() - {"__metadata__"}, "other.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    names = ("config.json", "model.safetensors.index.json", "other.safetensors")
    file = changed(tmp_path / "c.json", files={name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names})
    assert run(file, folder).returncode == 0
    shutil.copy(STORIES / "model.safetensors", folder)
    done = run(file, folder)
    said = "bad input: model.safetensors is in the folder, too, and may be what is meant\n"
    assert (done.returncode, done.stderr) == (2, said)
    (folder / "other.safetensors").unlink()
    index = {"weight_map": dict.fromkeys(index["weight_map"], "model.safetensors")}  # as a shard of its own
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    names = ("config.json", "model.safetensors.index.json", "model.safetensors")
    file = changed(tmp_path / "c.json", files={name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names})
    done = run(file, folder)
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("sys.byteorder", "big", "is not little-endian"), ("array", lambda kind, given: [0.0], "takes small numbers for 0")],
)
def test_a_machine_that_is_another(
    name: str, value: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(f"exactformer_check.{name}", value)
    assert exactformer_check.main([str(CERTIFICATE), str(STORIES)]) == 2
    assert capsys.readouterr() == ("", f"bad input: this machine {said}\n")


def test_a_file_may_be_called_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(CERTIFICATE, tmp_path / "-x.json")
    monkeypatch.chdir(tmp_path)
    done = cli("certify", "stories", "--independent", "--verify=-x.json")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "accepted: proved")


def test_the_rest_of_a_certificate_may_not_say_otherwise(tmp_path: Path) -> None:
    document = json.loads(CERTIFICATE.read_text())
    document["tokens"][1]["token"] += 1
    (tmp_path / "other.json").write_text(json.dumps(document))
    done = run(tmp_path / "other.json", STORIES)
    assert (done.returncode, done.stderr) == (
        1,
        "refused: the certificate: check: is about other ids or tokens than the rest of it\n",
    )


def test_certify_runs_it(tmp_path: Path) -> None:
    file, witness = tmp_path / "c.json", tmp_path / "c.witness"
    made = cli("certify", "stories", "--max", "2", "--format", "json", "-o", str(file), "--witness", str(witness))
    assert made.returncode == 0
    assert witness.stat().st_size > 10_000
    assert witness.stat().st_mode == file.stat().st_mode
    for more, last in (
        ((), "accepted: proved"),
        (("--witness", str(witness)), "accepted: by random tests, which a false certificate passes with probability 2^-96 at most"),
    ):
        done = cli("certify", "stories", "--verify", str(file), "--independent", *more)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, last)
    data = bytearray(witness.read_bytes())
    data[len(data) // 2] ^= 1
    witness.write_bytes(data)
    done = cli("certify", "stories", "--verify", str(file), "--independent", "--witness", str(witness))
    assert (done.returncode, done.stderr) == (1, "refused: the witness has a wrong product\n")


def test_every_certificate_of_many_prompts_can_be_checked(tmp_path: Path) -> None:
    prompts, many = tmp_path / "prompts.jsonl", tmp_path / "many.jsonl"
    prompts.write_text('{"prompt": "Once upon a time"}\n{"prompt": "One day Mia"}\n')
    asked = ("certify", "stories", "--max", "2", "--format", "json")
    assert cli(*asked, "--prompts", str(prompts), "-o", str(many)).returncode == 0
    lines = [json.loads(line) for line in many.read_text().splitlines()]
    single = json.loads(cli(*asked, "--prompt", "Once upon a time").stdout)
    assert lines[0]["check"] == single["check"]
    for number, line in enumerate(lines):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(line))
        done = run(file, STORIES)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "accepted: proved")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("capstone", "--verify", "x.json", "--independent"), "capstone: --independent checks certificates of model folders"),
        (("stories", "--independent"), "--independent: goes with --verify"),
        (("stories", "--witness", "x"), "--witness: goes with --format json and -o FILE"),
        (("stories", "-o", "x.json", "--witness", "./x.json"), "--witness: x.json is the file of -o, too"),
        (("stories", "-o", "x.json", "--witness", "nowhere/x"), "nowhere/x: there is no such folder to write to"),
        (("stories", "--verify", "x.json", "--witness", "x"), "--witness: goes with --verify where --independent does"),
    ],
)
def test_what_does_not_go_together(arguments: tuple[str, ...], said: str) -> None:
    done = cli("certify", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_the_checker_does_not_read_has_no_check(tmp_path: Path) -> None:
    """nanoGPT has no batch size; certify reads such files, and the checker takes no field that it does not know."""
    config = {"n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3, "bias": True, "dropout": 0.0}
    for more, there in (({}, True), ({"batch_size": 12}, False)):
        folder = tmp_path / str(there)
        folder.mkdir()
        tensors = {name: w.T if w.ndim == 2 and name.startswith("h.") else w for name, w in small_tensors().items()}
        write_folder(folder, config | more, tensors, "F32")
        done = cli("certify", str(folder), "--ids", "0,2", "--format", "json")
        assert done.returncode == 0, done.stderr
        assert ("check" in json.loads(done.stdout)) == there


def test_certificates_of_worksheets_have_no_check() -> None:
    done = cli("certify", "capstone", "--format", "json")
    document = json.loads(done.stdout)
    assert document["format"] == "exactformer certificate 3"
    assert "check" not in document


def test_it_is_in_the_wheel() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["py-modules"] == ["exactformer_check"]
    done = subprocess.run(
        [sys.executable, "-m", "exactformer_check", CERTIFICATE, STORIES],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "src",
    )
    assert done.returncode == 0
    assert exactformer_check.__file__ == str(CHECKER)
