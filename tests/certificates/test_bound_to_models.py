"""What a proof is bound to: its model, its weights, its tokens. Whatever was prepared or kept for another is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_models import gpt2_shaped

from exactformer.certificates import Prepared, certify, prove_token, prove_tokens, verify
from exactformer.certificates.audit import audit
from exactformer.certificates.comparison import compare
from exactformer.certificates.hash import model_hash
from exactformer.certificates.storage import place, prepared, read, write
from exactformer.certified import CertifiedArithmetic
from exactformer.certified.store import Store
from exactformer.model import Config, InputError, Model, Weights, forward
from exactformer.model.cache import Cache
from exactformer.worksheets import load


def simple(*logits: float) -> Model:
    """A model whose logits are given: what they are shows at once whose token is told."""
    names = tuple("abcdefgh"[: len(logits)])
    config = Config(vocabulary=names, dim=1, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    return Model(config, Weights(W_E=np.ones((len(logits), 1)), W_U=np.array([logits], dtype=float)))


A, B = simple(1, 2, 3), simple(3, 2, 1)
TAKERS: dict[str, Callable[[Model, Prepared], Any]] = {
    "prove_token": lambda model, ready: prove_token(model, [0], prepared=ready),
    "prove_tokens": lambda model, ready: list(prove_tokens(model, [0], 1, prepared=ready)),
    "certify": lambda model, ready: certify(model, [0], prepared=ready),
    "verify": lambda model, ready: verify(certify(model, [0]), model, ready),
    "Certificate.verify": lambda model, ready: certify(model, [0]).verify(model, ready),
    "compare": lambda model, ready: compare(model, [0], ["float64"], prepared=ready),
    "audit": lambda model, ready: audit(model, [0], certify(model, [0]).tokens, prepared=ready),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_the_preparation_of_another_model_is_refused(taker: str) -> None:
    with pytest.raises(InputError, match="prepared: is the preparation of another model"):
        TAKERS[taker](B, Prepared(A))
    TAKERS[taker](B, Prepared(B))
    TAKERS[taker](B, Prepared(replace(B)))  # the same weights in the same wiring


def test_another_wiring_of_the_same_weights_is_another_model() -> None:
    model = load("capstone").model
    strict = replace(model, config=replace(model.config, mask="strict"))
    with pytest.raises(InputError, match="another model"):
        prove_token(strict, [0, 1], prepared=Prepared(model))


def test_norms_are_believed_from_no_caller() -> None:
    with pytest.raises(TypeError):
        Prepared(A, norms={})  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Store({})  # type: ignore[call-arg]
    model = load("capstone").model
    ready = Prepared(model)
    ready.prepare()
    honest = prove_token(model, [0, 1], prepared=ready)
    for name in ready.norms:
        ready.norms[name] = 0.0  # a copy
    with pytest.raises(AttributeError):
        ready.norms = {}  # type: ignore[misc]
    assert prove_token(model, [0, 1], prepared=ready).top == honest.top


def test_kept_norms_are_found_by_the_hash_of_the_model_that_is_given(tmp_path: Any) -> None:
    """Norms of 0 under the hash of another model: they are never looked at."""
    model = gpt2_shaped("trained", 3, blocks=1, activation="relu")
    other = gpt2_shaped("trained", 4, blocks=1, activation="relu")
    with prepared(model, folder=tmp_path) as ready:
        ready.prepare()
    path = place(model_hash(other), tmp_path)
    assert path is not None
    write(path, model_hash(model), dict.fromkeys(ready.norms, 0.0))
    assert read(path, model_hash(other)) is None
    with prepared(other, folder=tmp_path) as found:
        assert found.norms == {}
    with prepared(model, folder=tmp_path) as found:
        assert found.norms == ready.norms


def test_an_outlook_that_does_not_fit_is_not_taken(tmp_path: Any) -> None:
    from exactformer.certified import Growth, Outlook

    path = place(model_hash(A), tmp_path)
    assert path is not None
    for growths in ((), (Growth(1, (0.0,) * 5, (0.0,) * 5),), (Growth("1", (0.0,), (0.0,)),)):  # type: ignore[arg-type]
        write(path, model_hash(A), {}, Outlook(growths, -2.0))
        with prepared(A, folder=tmp_path) as ready:
            assert ready.outlook is None
            assert prove_token(A, [0], prepared=ready).token == 2


@pytest.mark.parametrize("view", [False, True])
def test_weights_that_are_written_to_after_the_preparation(view: bool) -> None:
    table = np.array([[1.0, 2.0, 3.0]])
    model = replace(A, weights=replace(A.weights, W_U=table[:] if view else table))
    ready = Prepared(model)
    ready.prepare()
    table[0, 0] = 9.0
    assert prove_token(model, [0], prepared=ready).token == 2
    assert prove_token(replace(model, weights=replace(model.weights, W_U=table)), [0]).token == 0


def test_the_hash_of_a_model_is_taken_once_and_not_carried_to_another() -> None:
    from copy import copy, deepcopy

    digest = model_hash(A)
    assert model_hash(A, lambda name: pytest.fail("taken again")) == digest
    assert model_hash(copy(A)) == model_hash(deepcopy(A)) == digest
    assert model_hash(replace(A, weights=B.weights)) == model_hash(B) != digest


def test_a_cache_of_other_tokens_is_refused() -> None:
    """prove_token(M, [0, 1], cache=c); prove_token(M, [2, 2, 0], cache=c) proved a wrong token."""
    model = gpt2_shaped("trained", 3, blocks=1, activation="relu")
    cache = Cache()
    prove_token(model, [0, 1], cache=cache)
    with pytest.raises(InputError, match="position 0: the cache was made with the token 0, the input has 2"):
        prove_token(model, [2, 2, 0], cache=cache)
    assert prove_token(model, [0, 1, 2], cache=cache).token == prove_token(model, [0, 1, 2]).token
    assert cache.ids == (0, 1, 2)


def test_a_cache_of_another_model_or_of_other_passes_is_refused() -> None:
    model, other = (gpt2_shaped("trained", 3, blocks=1, activation="relu") for _ in range(2))
    cache = Cache()
    prove_token(model, [0, 1], cache=cache)
    with pytest.raises(InputError, match="another model"):
        prove_token(other, [0, 1, 2], cache=cache)

    def forged(step: Any) -> Any:
        name, value = step.name, step.values
        return replace(value, radius=0 * value.radius) if name.endswith((".k", ".v")) else value

    for ops in (CertifiedArithmetic(schedule=(4,)), CertifiedArithmetic(Prepared(model).store)):
        cache = Cache()
        forward(model, [0, 1], ops, forged, cache)
        with pytest.raises(InputError, match="by passes of another kind"):
            prove_token(model, [0, 1, 2], cache=cache)


def test_a_model_of_another_class_is_refused() -> None:
    class Sly(Model):
        pass

    with pytest.raises(InputError, match="a model of the class Sly"):
        prove_token(Sly(A.config, A.weights), [0])


WRONG: dict[str, dict[str, Any]] = {
    "cap": {"cap": [0, -1, 3, 26, 10**9, 4.0, True, "4", None, np.int64(8)]},
    "digits": {"digits": [-1, 81, 10**9, 1.5, True, "3", None, np.int64(20)]},
    "top": {"top": [0, -1, 1.0, True, "5", None]},
    "a schedule": {"schedule": [(), (4, 4), (0, 0), (3,), (26,), (-4,), (10**9,), (4.0,), (0.0,), (True,), ("4",), "4", 4, [None]]},
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_out_of_range_are_refused_in_one_line(name: str) -> None:
    ((argument, values),) = WRONG[name].items()
    for value in values:
        with pytest.raises(InputError, match=rf"^{name}") as refused:
            prove_token(A, [0], **{argument: value})
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("tokens", [0, -1, True, 1.0, "1", None])
def test_no_number_of_tokens(tokens: Any) -> None:
    with pytest.raises(InputError, match=r"^tokens: "):
        list(prove_tokens(A, [0], tokens))


@pytest.mark.parametrize("ids", [[True], [1.0], [-1], [3], ["0"], [np.int8(-1)], [None], [], 1, [[0]], np.array([0.0]), [np.nan]])
def test_ids_that_are_none_are_refused(ids: Any) -> None:
    for ask in (prove_token, certify):
        with pytest.raises(InputError):
            ask(A, ids)


def test_ids_of_numpy_are_plain_numbers() -> None:
    found = prove_token(A, np.array([0, 2], dtype=np.int8))  # type: ignore[arg-type]
    assert found.ids == (0, 2)
    assert all(type(token) is int for token in found.ids)
    written = certify(A, [np.int64(0)])
    assert written.verify(A).confirmed


def test_weights_that_share_memory() -> None:
    """One array for queries, keys and values, and overlapping views for the rest: names and norms are those of the numbers."""
    model = gpt2_shaped("trained", 5, blocks=1, activation="relu")
    attn = model.weights.blocks[0].attn
    shared = replace(attn, W_K=attn.W_Q, W_V=attn.W_Q, b_K=attn.b_Q, b_V=attn.b_Q)
    apart = replace(attn, W_K=attn.W_Q.copy(), W_V=attn.W_Q.copy(), b_K=attn.b_Q.copy(), b_V=attn.b_Q.copy())
    found = [
        prove_token(
            replace(model, weights=replace(model.weights, blocks=(replace(model.weights.blocks[0], attn=each),))), [1, 2, 3]
        )
        for each in (shared, apart)
    ]
    assert found[0].token == found[1].token
    assert found[0].top == found[1].top
    buffer = np.random.default_rng(1).standard_normal(40).astype(np.float32)
    overlapping = np.lib.stride_tricks.as_strided(buffer, (3, 1), (4, 4))
    model = replace(A, weights=replace(A.weights, W_E=overlapping, W_U=buffer[:3].reshape(1, 3)))
    assert prove_token(model, [0]).token == int(np.argmax(buffer[0] * buffer[:3]))


def test_a_copy_of_a_cache_goes_its_own_way() -> None:
    """A shallow copy shared the keys, but not the tokens that they belong to: a wrong token was proved."""
    from copy import copy

    model = gpt2_shaped("trained", 3, blocks=1, activation="relu")
    cache = Cache()
    prove_token(model, [0, 1], cache=cache)
    other = copy(cache)
    prove_token(model, [0, 1, 2], cache=cache)
    prove_token(model, [0, 1, 3], cache=other)
    found, whole = prove_token(model, [0, 1, 2, 4], cache=cache), prove_token(model, [0, 1, 2, 4])
    assert found.token == whole.token
    assert all(a.low <= b.high and b.low <= a.high for a, b in zip(found.top, whole.top, strict=True))


def test_numbers_of_a_model_do_not_change() -> None:
    """Exact weights were changed after the preparation, W_U.flat[0].value = …, and the token of the old ones was proved."""
    model = load("capstone").model
    with pytest.raises(AttributeError, match="a number does not change"):
        model.weights.W_E.flat[0].value = model.weights.W_E.flat[1].value
