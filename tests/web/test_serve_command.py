"""exactformer serve: it says where it listens, answers there, and ends when told; what cannot be is one clear line."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click import ClickException
from click.testing import CliRunner

from children import PATIENCE, interruptible
from exactformer import cli
from exactformer.cli.serve import _listener, _shown, command
from exactformer.worksheets import example_text

RUN = [sys.executable, "-c", "from exactformer.cli.serve import command; command()"]


def test_it_serves_on_loopback_and_ends_when_told() -> None:
    process = interruptible([*RUN, "--no-open", "--port", "0", "--workers", "2"], stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[1]
        assert address.startswith("http://127.0.0.1:")
        assert "exactformer" in httpx.get(address, timeout=PATIENCE).text
        assert httpx.get(f"{address}api/examples", timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) is not None
    finally:
        process.kill()


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ClickException, match=rf"^127\.0\.0\.1:{port}: cannot listen there: Address already in use$"):
            CliRunner().invoke(command, ["--no-open", "--port", str(port)], standalone_mode=False, catch_exceptions=False)


def test_addresses_as_browsers_write_them() -> None:
    assert [_shown(host) for host in ("127.0.0.1", "::1", "0.0.0.0", "box.local")] == [
        "127.0.0.1",
        "[::1]",
        "localhost",
        "box.local",
    ]


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The one line of a refusal, which comes before anything listens."""
    monkeypatch.setattr("sys.argv", ["exactformer", "serve", "--no-open", "--port", "0", *options])
    with pytest.raises(SystemExit) as end:
        cli.main()
    told = capsys.readouterr()
    assert (end.value.code, told.out, told.err.count("\n")) == (2, "", 1)
    return told.err.removeprefix("exactformer: ").rstrip()


def test_a_model_that_is_none_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "empty").mkdir()
    assert refused(monkeypatch, capsys, str(tmp_path / "empty")) == f"{tmp_path / 'empty'}: has no model.safetensors"
    assert refused(monkeypatch, capsys, "nothing").startswith("nothing: there is no such file, nor a built-in example")
    assert refused(monkeypatch, capsys, "length4") == "length4: the model has no logits: there is no token to prove"
    monkeypatch.setattr("exactformer.certificates.memory.available", lambda: 1000)
    assert refused(monkeypatch, capsys, str(folder)).startswith("tiny: a certified pass needs about ")


def test_a_model_is_proved_by_the_command(folder: Path) -> None:
    process = interruptible(
        [*RUN, str(folder), "--no-open", "--port", "0", "--workers", "2"], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        answer = httpx.post(f"{address}api/certify", json={"ids": "3 4"}, timeout=PATIENCE)
        assert answer.json()["verdict"].endswith(", proved")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) is not None
    finally:
        process.kill()


def test_a_worksheet_on_standard_input_is_looked_at_before_it_listens() -> None:
    for text, problem in (
        ("[[", "standard input: is not TOML"),
        (example_text("length4"), "standard input: the model has no logits"),
    ):
        done = CliRunner().invoke(command, ["-", "--no-open", "--port", "0"], input=text, standalone_mode=False)
        assert str(done.exception).startswith(problem)


def test_the_end_of_an_answer_does_not_wait_for_its_beginning() -> None:
    """Without it, an answer whose head and body are sent apart takes 40 ms more: the other side delays its acknowledgement."""
    with contextlib.closing(_listener("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
