"""The server: static files, and an API whose every answer is computed elsewhere (`workers.py`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from exactformer import __version__
from exactformer.messages import Refused
from exactformer.reading import json_value
from exactformer.web.api import OPERATIONS, Operation, mismatch, openapi
from exactformer.web.certifier import Certifier
from exactformer.web.guard import LARGEST_BODY, Guard, TooLong
from exactformer.web.sources import ARITHMETICS
from exactformer.web.workers import Answer, Pool, refusal

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def application(
    hosts: Iterable[str] = LOOPBACK,
    workers: int = 4,
    seconds: float = 20,
    memory: int = 2**30,
    model: str | None = None,
    token_seconds: float = 300,
    text: str | None = None,
    own: Iterable[str] = (),
    docs: Path | None = None,
) -> Starlette:
    """The ASGI application; it answers requests for `hosts` alone. Tokens of `model` are proved, in `token_seconds` each.

    A `text` is the worksheet of the model, which is then not read from a file. `own` are files of lessons, shown before the
    built-in ones; they are read anew whenever they are asked for, so that who writes one sees it as it is. `docs` is the folder of
    the documentation as a site, which the page then links to.
    """
    mine = list(own)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.pool = Pool(workers, seconds, memory)
        app.state.certifier = None if model is None else Certifier(model, token_seconds, text)
        warming = asyncio.ensure_future(app.state.pool.run("examples", {}))  # so that the first visitor does not wait
        try:
            yield
        finally:
            warming.cancel()
            app.state.pool.close()
            if app.state.certifier is not None:
                app.state.certifier.close()

    return Starlette(
        routes=[
            Mount("/api", routes=_api(mine)),
            *([] if docs is None else [Mount("/docs", StaticFiles(directory=docs, html=True)), Route("/", _linked)]),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        exception_handlers={HTTPException: _not_answered},
        middleware=[Middleware(Guard, hosts=tuple(hosts)), Middleware(GZipMiddleware, minimum_size=500)],
        lifespan=lifespan,
    )


def _api(own: list[str]) -> list[Route]:
    asked = [
        Route("/openapi.json", _described),
        Route("/about", _about),
        Route("/examples", _examples),
        Route("/lessons", _asked("lessons", own)),
        Route("/lesson/{slug}", _asked("read_lesson", own)),
        Route("/glossary", _asked("glossary")),
    ]
    return asked + [Route(f"/{operation.task}", _operation(operation), methods=["POST"]) for operation in OPERATIONS]


def _operation(operation: Operation) -> Any:
    async def endpoint(request: Request) -> Response:
        arguments = await _arguments(request, operation)
        if isinstance(arguments, Answer):
            return _response(arguments)
        state = request.app.state
        if not operation.of_model:
            seconds = max(operation.seconds, state.pool.seconds)
            return _response(await _awaited(request, state.pool.run(operation.task, arguments, seconds)))
        if state.certifier is None:
            return _response(refusal(422, "no model was given when the server was started: exactformer serve MODEL_DIR"))
        return _response(await _awaited(request, state.certifier.ask(operation.task, arguments)))

    return endpoint


async def _arguments(request: Request, operation: Operation) -> dict[str, Any] | Answer:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "the request is not application/json")
    try:
        arguments = json_value(await request.body(), Refused)
    except Refused:
        return refusal(400, "the request is not JSON")
    except TooLong:
        return refusal(413, f"the request has more than {LARGEST_BODY:,} bytes")
    except ClientDisconnect:
        return refusal(400, "the request ended early")
    problem = mismatch(arguments, operation.schema)
    return refusal(400, problem) if problem else arguments


async def _awaited(request: Request, answer: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer of a process; when the client goes away first, the computation ends."""
    computation = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({computation, gone}, return_when=asyncio.FIRST_COMPLETED)
        return computation.result() if computation.done() else refusal(503, "nobody waits for the answer")
    finally:
        computation.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _not_answered(request: Request, error: Exception) -> Response:
    """What is no address, or is asked in another way: in the API a line as JSON, elsewhere as text."""
    assert isinstance(error, HTTPException)
    path, headers = request.url.path, dict(error.headers or {})
    if not f"{path}/".startswith("/api/"):
        return Response(error.detail, error.status_code, headers, media_type="text/plain")
    line = error.detail
    if error.status_code == 404:
        line = f"there is no {path:.100}; /api/openapi.json says what there is"
    elif error.status_code == 405:
        takes = " or ".join(sorted(headers.get("Allow", "another method").split(", ")))
        line = f"{request.method:.20} is not answered here: {path:.100} takes {takes}"
    answer = _response(refusal(error.status_code, line))
    answer.headers.update(headers)
    return answer


async def _linked(request: Request) -> Response:
    """The page, with a link to the documentation that is served beside it."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    return Response(page.replace("</nav>", '<a href="docs/">Documentation</a></nav>', 1), media_type="text/html")


async def _examples(request: Request) -> Response:
    return _response(await request.app.state.pool.run("examples", {}))


def _asked(task: str, own: Sequence[str] = ()) -> Any:
    """What is asked for by its address: the parts of the path, and a language; of lessons, with the files of `own` ones."""

    async def endpoint(request: Request) -> Response:
        given = dict(request.path_params) | (
            {"language": request.query_params["language"]} if "language" in request.query_params else {}
        )
        files = {"own": own} if own else {}
        return _response(await request.app.state.pool.run(task, given | files, keep=not own))

    return endpoint


async def _about(request: Request) -> Response:
    certifier = request.app.state.certifier
    about = {"version": __version__, "arithmetics": ARITHMETICS, "model": None if certifier is None else certifier.about}
    return _response(Answer(200, json.dumps(about).encode()))


async def _described(request: Request) -> Response:
    return _response(Answer(200, json.dumps(openapi()).encode()))


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, media_type="application/json")
