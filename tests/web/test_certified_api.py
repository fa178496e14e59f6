"""Tokens proved over the API: the same answers, certificates and refusals as on the command line; nobody harms others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from children import PATIENCE
from exactformer import cli
from exactformer.certificates import prove_tokens
from exactformer.checkpoints import open_checkpoint
from exactformer.cli.certify import command as certify_command
from exactformer.web import certifier
from web.models import broken_folder, gpt2_folder
from web.serving import Serving, until

LONG = " ".join(str(n % 40) for n in range(500))  # takes seconds


def ask(server: Serving, task: str, timeout: float = PATIENCE, **body: Any) -> httpx.Response:
    return httpx.post(f"{server.address}/api/{task}", json=body, timeout=timeout)


def about(server: Serving) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.address}/api/about", timeout=PATIENCE).json()["model"]
    return found


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Serving]:
    """A server with a model that takes seconds for a long prompt."""
    with Serving(
        workers=2, model=str(gpt2_folder(tmp_path / "slow", layers=24, dim=64, positions=512)), token_seconds=PATIENCE
    ) as serving:
        yield serving


def test_the_model_tells_of_itself(proving: Serving) -> None:
    ask(proving, "certify", ids="3")
    found = about(proving)
    assert found["state"] == "ready"
    assert (found["name"], found["vocabulary"], found["positions"], found["blocks"]) == ("tiny", 40, 16, 2)
    assert (found["text"], found["tokenizer"]) == (False, False)


def test_tokens_one_by_one_are_those_of_the_library(proving: Serving, folder: Path) -> None:
    expected = list(prove_tokens(open_checkpoint(folder).model, [3, 4, 5], 4))
    for number, one in enumerate(expected, start=1):
        found = ask(proving, "certify", ids="3 4 5", tokens=4, number=number).json()
        assert (found["token"]["id"], found["runner_up"]["id"]) == (one.token, one.runner_up)
        assert one.margin is not None
        assert float(found["margin"]["low"]) <= float(one.margin[1])
        assert float(found["margin"]["high"]) >= float(one.margin[0]) > 0
        assert float(found["margin"]["digits"]) == pytest.approx(float(one.margin[0]), rel=0.1)
        assert [entry["token"]["id"] for entry in found["top"]] == [entry.token for entry in one.top]
        assert [layer["name"] for layer in found["layers"]] == [layer.name for layer in one.layers]
        assert len(found["schedule"]) == 5
        assert [token["id"] for token in found["given"]] == [3, 4, 5]


def test_the_last_token_can_be_asked_for_at_once(proving: Serving, folder: Path) -> None:
    expected = [one.token for one in prove_tokens(open_checkpoint(folder).model, [9, 8], 3)]
    assert ask(proving, "certify", ids="9 8", tokens=3, number=3).json()["token"]["id"] == expected[2]


def test_the_certificate_is_confirmed_by_the_command_line(proving: Serving, folder: Path, tmp_path: Path) -> None:
    found = ask(proving, "certificate", ids="3 4 5", tokens=4, top=3).json()
    file = tmp_path / found["name"]
    file.write_text(found["text"], encoding="utf-8")
    assert len(json.loads(found["text"])["tokens"]) == 4
    done = CliRunner().invoke(certify_command, [str(folder), "--verify", str(file)])
    assert (done.exit_code, done.stdout.startswith(f"confirmed: {file}: 4 tokens")) == (0, True), done.output
    wrong = found["text"].replace('"ids": [3, 4, 5]', '"ids": [3, 4, 6]')
    file.write_text(wrong, encoding="utf-8")
    assert CliRunner().invoke(certify_command, [str(folder), "--verify", str(file)]).exit_code == 1


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"ids": "3 40"}, "--ids: position 1: no token has the id 40: the vocabulary has 0 to 39"),
        ({"ids": "3 -4"}, "--ids: '-4' is not the id of a token: ids are whole numbers such as 0,1,2"),
        ({"ids": " , "}, "--ids: is empty: give at least one token"),
        ({"prompt": "a b"}, "--prompt: tiny has no tokenizer, which would cut a text into tokens: give --ids"),
        ({"prompt": "3", "ids": "3"}, "--ids: does not go with --prompt: the input is given in one way"),
        ({"ids": "3 " * 15, "tokens": 3}, "15 tokens given and 3 to prove take 17 positions; the model has 16"),
    ],
)
def test_refusals_are_those_of_the_command_line(
    proving: Serving, folder: Path, options: dict[str, Any], line: str, monkeypatch: Any, capsys: Any
) -> None:
    given = [part for name, value in options.items() for part in ("--max" if name == "tokens" else f"--{name}", str(value))]
    monkeypatch.setattr("sys.argv", ["exactformer", "certify", str(folder), *given])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == f"exactformer: {line}\n"
    for task in ("certify", "certificate"):
        answer = ask(proving, task, **options)
        assert (answer.status_code, answer.json()) == (422, {"error": line.replace("--", "")})


def test_numbers_out_of_range_are_no_request(proving: Serving) -> None:
    for body in (
        {"tokens": 21},
        {"tokens": 0},
        {"number": 0},
        {"top": 51},
        {"cap": 26},
        {"digits": 81},
        {"prompt": "3" * 20_001},
        {"model": "x"},
    ):
        assert ask(proving, "certify", **body).status_code == 400, body
    assert ask(proving, "certify", ids="3", number=2).json() == {"error": "number: 2 is not one of 1 tokens"}


def test_logits_have_the_decimals_asked_for(proving: Serving) -> None:
    found = ask(proving, "certify", ids="3 4", top=2, digits=40).json()
    assert [len(entry["digits"].partition(".")[2]) >= 39 for entry in found["top"]] == [True, True]
    assert found["short"] is False
    assert ask(proving, "certify", ids="3 4", top=2, digits=80, cap=6).json()["short"] is True
    assert ask(proving, "certify", ids="3 4", top=2).json()["short"] is False


def test_undecided_is_told_and_nothing_follows_it(capstone: Serving) -> None:
    found = ask(capstone, "certify", prompt="c").json()
    assert (found["token"], found["why"]) == (None, "undecided: a LayerNorm of variance 0 with ε = 0")
    after = ask(capstone, "certify", prompt="c", tokens=2, number=2)
    assert after.status_code == 422
    assert after.json()["error"] == "token 1: undecided: a LayerNorm of variance 0 with ε = 0, so none follows it"
    text = ask(capstone, "certificate", prompt="c", tokens=2).json()["text"]
    assert [claim["token"] for claim in json.loads(text)["tokens"]] == [None]


def test_without_a_model_it_is_said_how_to_give_one(server: Serving) -> None:
    answer = ask(server, "certify", prompt="a")
    assert answer.status_code == 422
    assert answer.json() == {"error": "no model was given when the server was started: exactformer serve MODEL_DIR"}


def test_many_clients_at_once_are_each_answered_rightly(proving: Serving, folder: Path) -> None:
    model = open_checkpoint(folder).model
    prompts = [[n, n + 1, n + 2] for n in range(12)]
    with ThreadPoolExecutor(12) as clients:
        steps = [(ids, number) for number in (1, 2, 3) for ids in prompts]
        told = clients.map(lambda step: ask(proving, "certify", ids=" ".join(map(str, step[0])), tokens=3, number=step[1]), steps)
        answers = {(tuple(ids), number): answer.json() for (ids, number), answer in zip(steps, told, strict=True)}
    for ids in prompts:
        for number, one in enumerate(prove_tokens(model, ids, 3), start=1):
            assert answers[tuple(ids), number]["token"]["id"] == one.token


def test_a_client_that_goes_away_ends_its_work_and_harms_nobody(slow: Serving, monkeypatch: Any) -> None:
    monkeypatch.setattr(certifier, "_GRACE", 0.1)
    expected = ask(slow, "certify", ids="3").json()["token"]
    first = slow.app.state.certifier._process.pid
    with ThreadPoolExecutor(1) as other:
        with pytest.raises(httpx.ReadTimeout):
            ask(slow, "certify", ids=LONG, timeout=1)
        waiting = other.submit(ask, slow, "certify", ids="3")
        assert waiting.result().json()["token"] == expected
    assert slow.app.state.certifier._process.pid != first


def test_what_takes_longer_than_allowed_is_ended(slow: Serving) -> None:
    ask(slow, "certify", ids="3")
    slow.app.state.certifier.seconds = 1
    answer = ask(slow, "certify", ids=LONG)
    assert (answer.status_code, answer.json()) == (504, {"error": "the token takes more than 1 seconds"})
    slow.app.state.certifier.seconds = PATIENCE
    assert ask(slow, "certify", ids="3").status_code == 200


def test_a_process_that_dies_is_started_again(slow: Serving) -> None:
    ask(slow, "certify", ids="3")
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(ask, slow, "certify", ids=LONG)
        until(lambda: not slow.app.state.certifier._asked.done())
        about(slow)  # answered by the thread that asks: so the process has been asked by now
        slow.app.state.certifier._process.kill()
        answer = asked.result()
    assert answer.status_code == 507
    assert answer.json()["error"].startswith("the process of the model was ended by SIGKILL")
    assert ask(slow, "certify", ids="3").status_code == 200


def test_too_many_who_wait_are_told(slow: Serving, monkeypatch: Any) -> None:
    monkeypatch.setattr(certifier, "_MOST_WAITING", 1)
    ask(slow, "certify", ids="3")
    with ThreadPoolExecutor(1) as other:
        first = other.submit(ask, slow, "certify", ids=LONG)
        until(lambda: slow.app.state.certifier._waiting == 1)
        answer = ask(slow, "certify", ids="3")
        assert (answer.status_code, answer.json()) == (503, {"error": "1 questions wait for the model: try again in a while"})
        slow.app.state.certifier._process.kill()
        assert first.result().status_code == 507


def test_a_model_that_cannot_be_prepared_says_why(tmp_path: Path) -> None:
    with Serving(workers=2, model=str(broken_folder(tmp_path / "nan"))) as server:
        answer = ask(server, "certify", ids="1")
        line = f"{tmp_path / 'nan'}: blocks.1.mlp.b_in: has an entry that is infinite or not a number"
        assert (answer.status_code, answer.json()) == (503, {"error": line})
        assert (about(server)["state"], about(server)["line"]) == ("failed", line)


def test_the_worksheet_of_the_documentation_is_served(tmp_path: Path) -> None:
    """It has no table of positions. From a file, or from the text that standard input gave, also to a second process."""
    page = Path(__file__).parent.parent.parent / "docs" / "commands.md"
    (text,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with Serving(workers=2, model=str(tmp_path / "mine.toml")) as server:
        found = ask(server, "certify", tokens=2, number=2)
        assert (found.status_code, about(server)["positions"]) == (200, None)
    with Serving(workers=2, model="standard input", text=text) as server:
        assert ask(server, "certify", tokens=2, number=2).json() == found.json()
        first = server.app.state.certifier._process
        first.kill()
        until(lambda: server.app.state.certifier._process is not first)  # its end was heard of
        assert ask(server, "certify", tokens=2, number=2).json() == found.json()
