"""exactformer serve: it says where it listens, answers there, and ends when told; what cannot be is one clear line."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import httpx
import pytest
from click import ClickException
from click.testing import CliRunner

from exactformer.cli.serve import _shown, command

RUN = [sys.executable, "-c", "from exactformer.cli.serve import command; command()"]


def test_it_serves_on_loopback_and_ends_when_told() -> None:
    process = subprocess.Popen([*RUN, "--no-open", "--port", "0", "--workers", "2"], stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[1]
        assert address.startswith("http://127.0.0.1:")
        for _ in range(100):
            try:
                assert "exactformer" in httpx.get(address).text
                break
            except httpx.ConnectError:
                continue
        assert httpx.get(f"{address}api/examples", timeout=30).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(15) is not None
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
