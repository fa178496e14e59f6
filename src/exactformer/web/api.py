"""The JSON API, described once: from this table come the routes, the checks of requests, and the OpenAPI document."""

from __future__ import annotations

from typing import Any, NamedTuple

from exactformer import __version__
from exactformer.certified.limbs import FEWEST, MOST
from exactformer.lessons.built_in import lessons
from exactformer.lessons.languages import languages
from exactformer.proofs.report import CLAIMS
from exactformer.web.sources import ARITHMETICS

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": {"type": "string", "maxLength": 10_000}, "maxItems": 1000}
_INDEX = {"type": "integer", "minimum": 0, "maximum": 1_000_000}
SOURCE: dict[str, Any] = {
    "type": "object",
    "description": "A built-in example or the text of a worksheet, and what is changed in it. Edits are lines such as "
    "`tokens=b a`, `mask=none`, `W_E[0,1]=1/2`, made in order; breaks are mistakes such as `no-scale`.",
    "properties": {
        "example": {"type": "string", "maxLength": 100},
        "worksheet": {"type": "string", "maxLength": 2_000_000},
        "name": {"type": "string", "maxLength": 200},
        "edits": _TEXTS,
        "breaks": {**_TEXTS, "maxItems": 10},
        "arithmetic": {"type": "string", "enum": list(ARITHMETICS)},
        "target": {"type": "string", "maxLength": 10_000},
    },
    "additionalProperties": False,
}


class Operation(NamedTuple):
    """What is given, and how many seconds it may take even where the server allows less. Tasks are those of `tasks.py`; where
    `of_model` is true, the process of the model answers (`certified_worker.py`)."""

    task: str
    summary: str
    given: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()
    seconds: float = 0
    of_model: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": self.given, "required": list(self.required), "additionalProperties": False}


_STEPS = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 50}
_PARTS = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 100}
_TOKENS = {"type": "integer", "minimum": 1, "maximum": 20}
_ASKED = {
    "prompt": {"type": "string", "maxLength": 20_000},
    "ids": {"type": "string", "maxLength": 20_000},
    "tokens": _TOKENS,
    "top": {"type": "integer", "minimum": 1, "maximum": 50},
    "cap": {"type": "integer", "minimum": FEWEST, "maximum": MOST},
    "digits": {"type": "integer", "minimum": 0, "maximum": 80},
}
_PROMPT = {name: _ASKED[name] for name in ("prompt", "ids")}
_STEP = {"type": "string", "maxLength": 200}
_WINDOW = {"steps": _STEPS, "start": _INDEX, "end": _INDEX, "left": _INDEX, "right": _INDEX}
_ENTRY = {
    "step": _STEP,
    "index": {"type": "array", "items": _INDEX, "maxItems": 4},
    "digits": {"type": "integer", "minimum": 1, "maximum": 1000},
}
_MATRIX = {"step": _STEP, "head": _INDEX}
_STRATEGY = {
    "position": _INDEX,
    "temperature": {"type": "string", "maxLength": 40},
    "top_k": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "top_p": {"type": "string", "maxLength": 40},
}
_FORMS = ["json", "markdown", "latex", "html", "text", "worksheet"]
OPERATIONS = (
    Operation(
        "pass", "A pass: its steps, what each reads, its output; with all numbers where they are few.",
        {"source": SOURCE}, ("source",),
    ),
    Operation(
        "gradient", "The backward pass, from the loss (or ones at the last position) to the weights.",
        {"source": SOURCE}, ("source",),
    ),
    Operation(
        "values", "Numbers of steps, weights or gradients: with a window of rows and columns, by their digits alone.",
        {"source": SOURCE} | _WINDOW, ("source", "steps"),
    ),
    Operation(
        "number", "One number: closed form as written and simplified, enclosure, and as many proved digits as asked for.",
        {"source": SOURCE} | _ENTRY, ("source", "step", "index"),
    ),
    Operation(
        "answer", "What is to be said of an answer to the question what `cell` is, such as `blocks.0.attn.pattern[0, 1, 0]`: equal "
        "(proved), right to the decimals given, wrong and with which slip; and as many hints as were asked for. After the last, "
        "the derivation. Without an answer, the hints alone.",
        {"source": SOURCE, "cell": {"type": "string", "maxLength": 300}, "answer": {"type": "string", "maxLength": 4000},
         "hints": {"type": "integer", "minimum": 0, "maximum": 20}, "decimals": {"type": "integer", "minimum": 1, "maximum": 50}},
        ("source", "cell"),
    ),
    Operation("compare", "The pass with and without mistakes: which steps are proved the same.", {"source": SOURCE}, ("source",)),
    Operation(
        "check", "The verdict on every printed number of a worksheet or of a Markdown lesson, and the corrected text.",
        {"text": {"type": "string", "maxLength": 2_000_000}, "name": {"type": "string", "maxLength": 200}}, ("text",),
    ),
    Operation(
        "draw", "A lesson that is given as Markdown, as the page draws it: as GET /api/lesson, with `problems`, the lines of "
        "what is not right in it. Worksheets beside it cannot be read.",
        {"text": {"type": "string", "maxLength": 2_000_000}, "name": {"type": "string", "maxLength": 200}}, ("text",),
    ),
    Operation("lesson", "The text of a built-in lesson.", {"name": {"type": "string", "maxLength": 100}}, ("name",)),
    Operation(
        "circuits", "The QK and OV circuits of every head, exact, with their proved largest entries and norms.",
        {"source": SOURCE}, ("source",),
    ),
    Operation(
        "theorem", "A proof, over all inputs up to a length, that a circuit does what its rule says; or that the rule fails for "
        "some input, or holds for none. `omitted` are parts that write nothing: `blocks.0.attn.head.0`, `blocks.0.mlp`.",
        {"source": SOURCE, "length": {"type": "integer", "minimum": 1, "maximum": 8},
         "claim": {"type": "string", "enum": list(CLAIMS)}, "omitted": _PARTS}, ("source", "length"), 60,
    ),
    Operation(
        "pattern", "A proof, over all sequences up to a length, of a claim about where a head looks, such as "
        "`0.0 previous >= 0.99`: the verdict, the weight nearest to the bound and where it is, and the first sequences that are "
        "not proved.",
        {"source": SOURCE, "claim": {"type": "string", "maxLength": 200},
         "length": {"type": "integer", "minimum": 1, "maximum": 64}, "omitted": _PARTS}, ("source", "claim", "length"), 60,
    ),
    Operation(
        "export", "A pass as a file: its name, its type and its text.",
        {"source": SOURCE, "form": {"type": "string", "enum": _FORMS}, "at": {"type": "string", "maxLength": 2000}},
        ("source", "form"),
    ),
    Operation(
        "certify", "One of the next tokens (`number` of `tokens`) of the model that the server was started with, proved: "
        "its margin, the largest logits, bits and error bound by layer.",
        _ASKED | {"number": _TOKENS}, of_model=True,
    ),
    Operation("certificate", "The certificate of the next tokens, as a file.", _ASKED, of_model=True),
    Operation(
        "distribution", "What temperature, top-k and top-p make of the logits of a position: the largest with their probabilities, "
        "and what is cut off, proved or said undecided.",
        {"source": SOURCE} | _STRATEGY, ("source", "position"),
    ),
    Operation(
        "explain", "Where a logit comes from, or the lead of one token over another: a sum of contributions, proved to add up.",
        {"source": SOURCE, "position": _INDEX, "token": _STEP, "over": _STEP},
        ("source", "position"),
    ),
    Operation(
        "ablate", "A lead before and after parts are left out, and its proved change. `parts` are `blocks.0.attn.head.3=zero`, "
        "`=mean` (over the `prompts`) or `=from TEXT`; without `token` and `over`, it is the lead of the token that is said over "
        "the next.",
        {"source": SOURCE, "position": _INDEX, "parts": {**_TEXTS, "maxItems": 20}, "token": _STEP, "over": _STEP,
         "prompts": _TEXTS}, ("source", "position", "parts"),
    ),
    Operation(
        "lens", "What the model would say after each block: the token, its lead over the next, and whether that is proved.",
        {"source": SOURCE, "position": _INDEX}, ("source", "position"),
    ),
    Operation(
        "shades", "Floats near the numbers of a matrix, by which it is drawn: of no number null, under the mask hidden.",
        {"source": SOURCE} | _MATRIX, ("source", "step"),
    ),
    Operation("model_pass", "A pass of the model over a prompt: as `pass`, without its numbers.", _PROMPT, of_model=True),
    Operation(
        "model_values", "Numbers of that pass or of the model's weights, as `values`: proved decimals.",
        _PROMPT | _WINDOW, ("steps",), of_model=True,
    ),
    Operation("model_number", "One number of that pass, as `number`.", _PROMPT | _ENTRY, ("step", "index"), of_model=True),
    Operation("model_shades", "As `shades`, of that pass.", _PROMPT | _MATRIX, ("step",), of_model=True),
    Operation("model_distribution", "As `distribution`, of that pass.", _PROMPT | _STRATEGY, ("position",), of_model=True),
)  # fmt: skip


def mismatch(value: Any, schema: dict[str, Any], at: str = "") -> str:
    """What is wrong with a value, in one line; "" where it is as described.

    >>> mismatch({"text": 1}, OPERATIONS[6].schema)
    'text: is not a string'
    >>> mismatch({"source": {"example": "capstone"}, "length": 9}, OPERATIONS[10].schema)
    'length: is more than 8'
    """
    kind: str = schema["type"]
    where = f"{at}: " if at else "the request: "
    if not _is(value, kind):
        return f"{where}is not {_ARTICLES[kind]}"
    if kind == "integer":
        low, high = schema["minimum"], schema["maximum"]
        return f"{where}is less than {low}" if value < low else f"{where}is more than {high}" if value > high else ""
    if kind == "string":
        return _text_mismatch(value, schema, where)
    if kind == "array":
        if len(value) > schema["maxItems"]:
            return f"{where}has more than {schema['maxItems']:,} entries"
        return next(filter(None, (mismatch(item, schema["items"], f"{at}[{n}]") for n, item in enumerate(value))), "")
    for name in schema.get("required", ()):
        if name not in value:
            return f"{name}: is missing"
    for name, item in value.items():
        if name not in schema["properties"]:
            return f"{where}{name!r:.40} is not known here ({', '.join(schema['properties'])})"
        problem = mismatch(item, schema["properties"][name], f"{at}.{name}".lstrip("."))
        if problem:
            return problem
    return ""


def _is(value: Any, kind: str) -> bool:
    return type(value) is _KINDS[kind]  # true and false are no numbers here


_KINDS: dict[str, type] = {"object": dict, "array": list, "string": str, "integer": int}
_ARTICLES = {"object": "an object", "array": "a list", "string": "a string", "integer": "a whole number"}


def _text_mismatch(value: str, schema: dict[str, Any], where: str) -> str:
    if "enum" in schema and value not in schema["enum"]:
        return f"{where}is not one of {', '.join(schema['enum'])}"
    if len(value) > schema.get("maxLength", len(value)):
        return f"{where}has {len(value):,} characters, more than {schema['maxLength']:,}"
    return f"{where}is not Unicode text" if any("\ud800" <= c <= "\udfff" for c in value) else ""


def openapi() -> dict[str, Any]:
    """The OpenAPI document."""
    answers = {
        "200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}},
        **{
            status: {"description": meaning, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
            for status, meaning in {
                "400": "not a request of this kind",
                "403": "from another page, or for another host",
                "413": "too long",
                "415": "not JSON",
                "422": "a worksheet, an edit, a step or a prompt that is refused, in the words of the command line",
                "503": "busy",
                "504": "takes longer than allowed",
                "507": "needs more memory than allowed",
            }.items()
        },
    }
    paths: dict[str, Any] = {
        f"/api/{op.task}": {
            "post": {
                "operationId": op.task,
                "summary": op.summary,
                "requestBody": {"required": True, "content": {"application/json": {"schema": op.schema}}},
                "responses": answers,
            }
        }
        for op in OPERATIONS
    }
    for name, summary in (("examples", "Examples, networks and lessons."), ("about", "The version, and what is offered.")):
        paths[f"/api/{name}"] = {"get": {"operationId": name, "summary": summary, "responses": {"200": answers["200"]}}}
    language = {"name": "language", "in": "query", "required": False, "schema": {"type": "string", "enum": list(languages())}}
    slug = {"name": "slug", "in": "path", "required": True, "schema": {"type": "string", "enum": list(lessons()) or ["none"]}}
    said = {"200": answers["200"], "422": answers["422"]}
    for name, path, given, summary in (
        ("lessons", "lessons", [language], "The built-in lessons in the order in which they are read."),
        (
            "readLesson",
            "lesson/{slug}",
            [slug, language],
            "A lesson: a tree of its text, its views, and the passes that they are of.",
        ),
        ("glossary", "glossary", [language], "Terms and signs, each with a sentence."),
    ):
        paths[f"/api/{path}"] = {"get": {"operationId": name, "summary": summary, "parameters": given, "responses": said}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "exactformer", "version": __version__, "description": "Transformers computed without rounding."},
        "paths": paths,
        "components": {
            "schemas": {
                "Error": {"type": "object", "properties": {"error": _TEXT}, "required": ["error"], "additionalProperties": False}
            }
        },
    }
