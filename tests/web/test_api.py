"""The JSON API: what it answers, what it refuses and in which words, and that no computation outlives its budget or its client."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import socket
import threading
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from children import PATIENCE
from exactformer.arithmetics import able
from exactformer.cli.trace import command as trace_command
from exactformer.render import json as as_json
from exactformer.web.api import OPERATIONS
from exactformer.web.workers import Answer, Worker
from exactformer.worksheets import example_text, load, loads
from exactformer.worksheets.models import networks
from web.serving import Serving, awaited, until

CAPSTONE = {"example": "capstone"}
JSON = {"content-type": "application/json"}
get, post = (functools.partial(function, timeout=PATIENCE) for function in (httpx.get, httpx.post))


def worksheet(dim: int, blocks: int, length: int) -> str:
    """A model without a zero in it: in exact arithmetic, its numbers nest ever deeper."""

    def dense(rows: int) -> str:
        return json.dumps([[f"{(i * 5 + j * 3) % 7 + 1}/5" for j in range(dim)] for i in range(rows)])

    matrices = ", ".join(f"W_{letter} = {dense(dim)}" for letter in "QKVO")
    block = f"[[weights.blocks]]\nattn = {{ {matrices} }}\nmlp = {{ W_in = {dense(dim)}, W_out = {dense(dim)} }}\n"
    return f"""
[model]
vocabulary = ["a"]
dim = {dim}
blocks = {blocks}
norm = "pre"
epsilon = "1/7"
mask = "causal"
scale = "sqrt"
positions = "sinusoidal"
mlp = {dim}
activation = "gelu"
unembedding = "tied"
[weights]
W_E = {dense(1)}
{block * blocks}
[input]
tokens = "{"a " * length}"
"""


SLOW = {"worksheet": worksheet(24, 24, 24), "name": "slow.toml"}


def slow(n: int) -> dict[str, str]:
    """Others that are as slow: a question that is asked already is computed once."""
    return SLOW | {"name": f"slow.toml {n}"}


def slow_ones(server: Serving) -> int:
    """How many processes are busy with them."""
    return sum("slow.toml" in worker.about for worker in list(server.app.state.pool._busy))  # of which another thread has charge


def ask(server: Serving, task: str, body: Any, **more: Any) -> httpx.Response:
    return post(f"{server.address}/api/{task}", json=body, **more)


def test_a_pass_has_the_numbers_of_the_trace(server: Serving) -> None:
    found = ask(server, "pass", {"source": CAPSTONE}).json()
    document = as_json.document(load("capstone").trace())
    assert found["tokens"] == document["tokens"]
    names = [step["name"] for step in document["steps"]]
    assert [step["name"] for step in found["steps"]] == names
    numbers = ask(server, "values", {"source": CAPSTONE, "steps": names}).json()["values"]
    assert {step["name"]: step["values"] for step in document["steps"]} == numbers


def test_rows_and_columns_of_a_large_step(server: Serving) -> None:
    whole = ask(server, "values", {"source": {"example": "induction"}, "steps": ["blocks.0.resid_pre"]}).json()
    window = {"start": 1, "end": 3, "left": 4, "right": 6}
    part = ask(server, "values", {"source": {"example": "induction"}, "steps": ["blocks.0.resid_pre"], **window}).json()
    rows = whole["values"]["blocks.0.resid_pre"]
    assert part["values"]["blocks.0.resid_pre"] == [row[4:6] for row in rows[1:3]]


def test_a_number_with_many_digits(server: Serving) -> None:
    body = {"source": CAPSTONE, "step": "blocks.0.attn.pattern", "index": [0, 1, 0], "digits": 100}
    found = ask(server, "number", body).json()
    assert (found["simplified"], found["written"]) == ("1/(1+e)", "e^1/(e^1+e^2)")
    assert len(found["digits"]) == 102
    assert found["low"] < found["high"]


def test_exports_and_checks(server: Serving) -> None:
    for form in ("json", "markdown", "latex", "html", "text", "worksheet"):
        found = ask(server, "export", {"source": CAPSTONE, "form": form}).json()
        assert found["text"]
        assert found["name"].startswith("capstone.")
    text = '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.8"]\n'
    found = ask(server, "check", {"text": text, "name": "x.toml"}).json()
    assert found["findings"][0]["verdict"] == "last digit off"
    assert text[slice(*found["findings"][0]["span"])] == "2.8"
    assert '"2.7"' in found["fixed"]


def test_a_trained_network_is_a_source_and_its_worksheet_is_the_same_model(server: Serving) -> None:
    names = [card["name"] for card in get(f"{server.address}/api/examples").json()["networks"]]
    assert sorted(names) == list(networks())
    source = {"example": "largest", "arithmetic": "arb"}
    assert ask(server, "pass", {"source": source}).json()["title"] == "The largest of four numbers"
    again = loads(ask(server, "export", {"source": source, "form": "worksheet"}).json()["text"])
    there = load("largest")
    assert (again.model.config, again.tokens, again.theorem) == (there.model.config, there.tokens, there.theorem)
    assert [x.to_float() for x in again.model.weights.W_E.flat] == there.model.weights.W_E.ravel().tolist()


@pytest.mark.parametrize(
    ("task", "body", "line"),
    [
        ("pass", {"source": {"example": "nothing"}}, "nothing: there is no built-in example of that name"),
        ("pass", {"source": {}}, "source: give an example or a worksheet"),
        ("pass", {"source": {"example": "capstone", "edits": ["W_E[9,9]=1"]}}, "W_E[9,9]: is not an entry: W_E is 3 × 2"),
        ("pass", {"source": {"example": "capstone", "edits": ["mask=all"]}}, "mask: 'all' is not one of causal, strict, none"),
        ("pass", {"source": {"example": "capstone", "edits": ["epsilon=-1"]}}, "epsilon: -1 is negative"),
        ("pass", {"source": {"example": "length4", "edits": ["activation=relu"]}}, "activation: the model has no MLP"),
        ("pass", {"source": {"example": "capstone", "edits": ["tokens="]}}, "tokens: the input is empty"),
        ("pass", {"source": {"example": "length4", "breaks": ["no-norm"]}}, "--break: no-norm does not apply"),
        ("number", {"source": CAPSTONE, "step": "nowhere", "index": []}, "step: there is no step 'nowhere'"),
        ("number", {"source": CAPSTONE, "step": "embed", "index": [7, 0]}, "index: [7, 0] is no entry of embed, which is 2 × 2"),
        ("gradient", {"source": {"example": "capstone", "target": "a"}}, "1 target for 2 positions"),
        ("theorem", {"source": CAPSTONE, "length": 2}, "source: has no circuit"),
        ("compare", {"source": CAPSTONE}, "source.breaks: no mistake is named"),
        ("lesson", {"name": "nothing"}, "name: there is no lesson 'nothing'"),
    ],
)
def test_refusals_are_one_clear_line(server: Serving, task: str, body: Any, line: str) -> None:
    answer = ask(server, task, body)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(line)
    assert "\n" not in answer.json()["error"]


def test_a_bad_worksheet_is_refused_as_on_the_command_line(server: Serving, tmp_path: Any) -> None:
    text = example_text("capstone").replace("epsilon = 0\n", "")
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ValueError) as told:
        CliRunner().invoke(trace_command, [str(file)], catch_exceptions=False, standalone_mode=False)
    answer = ask(server, "pass", {"source": {"worksheet": text, "name": str(file)}})
    assert answer.json()["error"] == str(told.value)


def test_requests_that_are_none(server: Serving) -> None:
    assert ask(server, "pass", []).json() == {"error": "the request: is not an object"}
    assert ask(server, "pass", {}).json() == {"error": "source: is missing"}
    assert ask(server, "pass", {"source": {"example": "capstone", "path": "/etc"}}).status_code == 400
    assert post(f"{server.address}/api/pass", content=b"{").status_code == 415
    twice = b'{"source": {"example": "capstone"}, "source": {"example": "length4"}}'
    for content in (b"{", twice, b'{"source": NaN}', b"[" * 100_000):
        assert post(f"{server.address}/api/pass", content=content, headers=JSON).status_code == 400
    assert post(f"{server.address}/api/pass", content=b"x" * (5 << 20), headers=JSON).status_code == 413
    endless = post(f"{server.address}/api/pass", content=iter([b"x" * (1 << 20)] * 6), headers=JSON)
    assert endless.status_code == 413
    assert get(f"{server.address}/../tasks.py").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status", "line"),
    [
        ("GET", "/api/certify", 405, "GET is not answered here: /api/certify takes POST"),
        ("POST", "/api/about", 405, "POST is not answered here: /api/about takes GET or HEAD"),
        ("GET", "/api/nope", 404, "there is no /api/nope; /api/openapi.json says what there is"),
        ("POST", "/api/a/b", 404, "there is no /api/a/b; /api/openapi.json says what there is"),
        ("GET", "/api", 404, "there is no /api; /api/openapi.json says what there is"),
        ("GET", "/api/", 404, "there is no /api/; /api/openapi.json says what there is"),
    ],
)
def test_what_is_no_address_of_the_api_is_told_as_json(server: Serving, method: str, path: str, status: int, line: str) -> None:
    answer = httpx.request(method, f"{server.address}{path}", timeout=PATIENCE)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert answer.json() == {"error": line}
    assert ("allow" in answer.headers) == (status == 405)
    assert get(f"{server.address}/apish").headers["content-type"].startswith("text/plain")


def test_other_hosts_and_other_pages_are_turned_away(server: Serving) -> None:
    port = server.address.rpartition(":")[2]
    good = {"host": f"localhost:{port}", "origin": f"http://localhost:{port}", "sec-fetch-site": "same-origin"}
    assert ask(server, "lesson", {"name": "attention"}, headers=good).status_code == 200
    for bad in (
        {"host": "evil.example"}, {"host": f"127.0.0.1.evil.example:{port}"}, {"origin": "http://evil.example"},
        {"origin": "null"}, {"origin": "http://localhost:1"}, {"sec-fetch-site": "cross-site"},
    ):  # fmt: skip
        answer = ask(server, "lesson", {"name": "attention"}, headers=good | bad)
        assert answer.status_code == 403, bad


def test_every_answer_carries_the_policy(server: Serving) -> None:
    for path in ("/", "/main.js", "/api/examples", "/nothing"):
        headers = get(server.address + path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_the_description_names_every_operation(server: Serving) -> None:
    described = get(f"{server.address}/api/openapi.json").json()
    assert {f"/api/{operation.task}" for operation in OPERATIONS} <= set(described["paths"])
    about = get(f"{server.address}/api/about").json()
    assert about["model"] is None
    assert (
        about["arithmetics"]
        == list(able(lambda kind: kind.stepwise))
        == ["exact", "arb", "float64", "float32", "float16", "bfloat16"]
    )


def test_gradients_in_every_arithmetic_that_has_them(server: Serving) -> None:
    for name in able(lambda kind: kind.differentiates):
        source = {"example": "capstone", "target": "a b", "arithmetic": name}
        loss = ask(server, "gradient", {"source": source}).json()["loss"]
        assert loss.get("low", loss["text"]).startswith("1.4076")


def test_quick_computations_do_not_wait_for_long_ones() -> None:
    async def meanwhile(address: str) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            long = [asyncio.create_task(client.post(f"{address}/api/pass", json={"source": slow(n)})) for n in range(2)]
            while slow_ones(server) < 2:  # all that there are
                await asyncio.sleep(0.01)
            for n in range(3):
                quick = {"source": {"example": "capstone", "edits": [f"W_E[0,0]={n + 2}"]}}
                answer = await client.post(f"{address}/api/pass", json=quick)
                assert answer.status_code == 200
                assert not any(one.done() for one in long)
            for one in long:
                one.cancel()

    with Serving(workers=2, seconds=10 * PATIENCE) as server:
        awaited(meanwhile(server.address))


def test_quick_questions_have_a_lane_behind_thirty_heavy_ones() -> None:
    async def meanwhile(address: str) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE, limits=httpx.Limits(max_connections=None)) as client:
            long = [asyncio.create_task(client.post(f"{address}/api/pass", json={"source": slow(n)})) for n in range(30)]
            while slow_ones(server) < 5:  # both, those that took their places, and the lane
                await asyncio.sleep(0.01)
            for n in range(3):
                quick = {"source": {"example": "capstone", "edits": [f"W_E[0,0]={n + 2}"]}, "step": "embed", "index": [0, 0]}
                answer = await client.post(f"{address}/api/number", json=quick)
                assert answer.json()["value"]["text"] == str(n + 2)
                assert not any(one.done() for one in long)
            for one in long:
                one.cancel()

    with Serving(workers=2, seconds=10 * PATIENCE) as server:
        awaited(meanwhile(server.address))


def test_identical_questions_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve who ask at once get one answer, and it is computed on while anybody waits for it."""
    asked: list[bytes] = []
    ask_worker, all_came = Worker.ask, threading.Event()

    def counted(worker: Worker, message: bytes) -> Answer:
        asked.append(message)
        assert b"context" not in message or all_came.wait(PATIENCE)
        return ask_worker(worker, message)

    monkeypatch.setattr(Worker, "ask", counted)
    source = {"example": "context", "edits": ["W_E[0,0]=3"]}

    async def until_waiting(count: int) -> None:
        while [flight.waiting for flight in list(server.app.state.pool._flights.values())] != [count]:
            await asyncio.sleep(0.01)

    async def class_of(size: int, address: str) -> list[bytes]:
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            posts = [asyncio.create_task(client.post(f"{address}/api/pass", json={"source": source})) for _ in range(size)]
            await until_waiting(size)
            posts[0].cancel()
            await until_waiting(size - 1)
            all_came.set()
            return [(await post).content for post in posts[1:]]

    with Serving(workers=2) as server:
        answers = awaited(class_of(12, server.address))
    assert len(set(answers)) == 1
    assert sum(b"context" in message for message in asked) == 1


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /api/pass HTTP/1.1\r\nhost: 127.0.0.1\r\n",
        b"POST /api/pass HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        b"GET /api/about HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\nGET /api",
    ],
)
def test_a_request_that_is_sent_in_part_is_dropped(begun: bytes) -> None:
    with Serving(patience=0.3, workers=2) as server, socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
        client.sendall(begun)
        with contextlib.suppress(ConnectionResetError):  # closed before all of it was read
            while client.recv(65536):  # until the server closes it: else this takes all of its patience, and fails
                pass


@pytest.mark.parametrize(("allowed", "task", "seconds"), [(20, "pass", 20), (20, "theorem", 60), (100, "theorem", 100)])
def test_a_theorem_has_a_minute_and_more_where_the_server_allows_more(
    server: Serving, monkeypatch: pytest.MonkeyPatch, allowed: int, task: str, seconds: int
) -> None:
    async def run(task: str, arguments: Any, seconds: float) -> Answer:
        return Answer(200, str(seconds).encode())

    monkeypatch.setattr(server.app.state.pool, "run", run)
    monkeypatch.setattr(server.app.state.pool, "seconds", allowed)
    body = {"source": {"example": "induction"}} | ({"length": 2} if task == "theorem" else {})
    assert ask(server, task, body).json() == seconds


def test_a_computation_that_hits_its_budget_harms_nobody_else() -> None:
    with Serving(workers=2, seconds=1) as server:
        answer = ask(server, "pass", {"source": SLOW})
        assert (answer.status_code, answer.json()) == (504, {"error": "the computation takes more than 1 seconds"})
        server.app.state.pool.seconds = PATIENCE
        assert ask(server, "pass", {"source": CAPSTONE}).status_code == 200


def test_an_answer_that_comes_just_too_late_harms_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process was ended when it had answered, and is asked nothing more."""
    ask_worker, source = Worker.ask, {"example": "capstone", "edits": ["W_E[0,0]=7"]}

    def late(worker: Worker, message: bytes) -> Answer:
        answer = ask_worker(worker, message)
        if b"W_E[0,0]=7" in message:
            until(lambda: worker.doomed)
        return answer

    with Serving(workers=2, seconds=1) as server:
        with monkeypatch.context() as delayed:
            delayed.setattr(Worker, "ask", late)
            assert ask(server, "pass", {"source": source}).status_code == 504
        server.app.state.pool.seconds = PATIENCE
        assert ask(server, "pass", {"source": source}).status_code == 200


def test_a_client_that_goes_away_ends_its_computation() -> None:
    with Serving(workers=2, seconds=10 * PATIENCE) as server:
        ask(server, "pass", {"source": CAPSTONE})
        for _ in range(4):  # more than there are processes: each must have been freed
            with pytest.raises(httpx.ReadTimeout):
                post(f"{server.address}/api/pass", json={"source": SLOW}, timeout=httpx.Timeout(PATIENCE, read=0.7))
        until(lambda: not server.app.state.pool._busy)
        assert ask(server, "pass", {"source": {"example": "length4", "edits": ["mask=none"]}}).status_code == 200


def test_a_computation_that_needs_too_much_memory_ends_alone() -> None:
    with Serving(workers=2, memory=32 << 20) as server:
        answer = ask(server, "pass", {"source": {"worksheet": worksheet(200, 1, 4), "name": "wide.toml"}})
        assert answer.status_code == 507
        assert "needs more than 32 MB" in answer.json()["error"]
        assert ask(server, "pass", {"source": CAPSTONE}).status_code == 200
