"""Tokenizer files that are damaged, hostile or of another kind are refused with one line that names the place."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from byte_pair_files import few, load_or_message, tokenizer_json, write_json, write_pair

from exactformer.tokenizers import TokenizerError, load_tokenizer


def edit(*path: Any, value: Any = None, remove: bool = False) -> Callable[[Any], Any]:
    def apply(content: Any) -> Any:
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        if remove:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return content

    return apply


ONLY = "supported is byte-pair encoding as GPT-2, Llama and Qwen have it"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: [], "tokenizer.json: is not a table"),
        (edit("model", remove=True), "tokenizer.json: model is missing"),
        (edit("model", value=3), "tokenizer.json: model is 3, not a table"),
        (edit("model", "type", value="Unigram"), f"tokenizer.json: model.type is 'Unigram': {ONLY}"),
        (edit("model", "type", value="WordPiece"), f"tokenizer.json: model.type is 'WordPiece': {ONLY}"),
        (edit("model", "dropout", value=0.1), f"tokenizer.json: model.dropout is 0.1: {ONLY}"),
        (edit("model", "byte_fallback", value=True), f"tokenizer.json: model.byte_fallback is true: {ONLY}"),
        (edit("model", "ignore_merges", value=1), "tokenizer.json: model.ignore_merges is 1, not true or false"),
        (edit("model", "end_of_word_suffix", value="</w>"), f"tokenizer.json: model.end_of_word_suffix is '</w>': {ONLY}"),
        (edit("normalizer", value={"type": "Lowercase"}), f"tokenizer.json: normalizer.type is 'Lowercase': {ONLY}"),
        (
            edit("normalizer", value={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "StripAccents"}]}),
            f"tokenizer.json: normalizer.normalizers.1.type is 'StripAccents': {ONLY}",
        ),
        (edit("pre_tokenizer", value=None), "tokenizer.json: decoder and pre_tokenizer must both be ByteLevel, or neither"),
        (edit("pre_tokenizer", "type", value="Whitespace"), f"tokenizer.json: pre_tokenizer.type is 'Whitespace': {ONLY}"),
        (
            edit("pre_tokenizer", value={"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False}),
            f"tokenizer.json: pre_tokenizer.pattern is a table of 1: {ONLY}",
        ),
        (edit("pre_tokenizer", "use_regex", value=0), f"tokenizer.json: pre_tokenizer.use_regex is 0: {ONLY}"),
        (edit("decoder", "type", value="BPEDecoder"), f"tokenizer.json: decoder.type is 'BPEDecoder': {ONLY}"),
        (
            edit("post_processor", "type", value="BertProcessing"),
            f"tokenizer.json: post_processor.type is 'BertProcessing': {ONLY}",
        ),
        (
            edit("post_processor", "single", value=[]),
            "tokenizer.json: post_processor.single does not have the text once",
        ),
        (edit("model", "vocab", value=[]), "tokenizer.json: model.vocab is a list of 0, not a table"),
        (edit("model", "vocab", "a", remove=True), "tokenizer.json: model.vocab.'a' is missing, the token of the byte 0x61"),
        (
            edit("model", "vocab", "a", value="1"),
            "tokenizer.json: model.vocab.'a' has the id '1': tokens are texts that are not empty, and ids whole numbers",
        ),
        (
            edit("model", "vocab", "a", value=True),
            "tokenizer.json: model.vocab.'a' has the id true: tokens are texts that are not empty, and ids whole numbers",
        ),
        (
            edit("model", "vocab", "", value=263),
            "tokenizer.json: model.vocab.'' has the id 263: tokens are texts that are not empty, and ids whole numbers",
        ),
        (edit("model", "vocab", "b", value=66), "tokenizer.json: model.vocab.'A' has the id 66, and so has 'b'"),
        (edit("model", "vocab", "Ġthe", value=10**60), "tokenizer.json: of 263 tokens none has the id 259: ids are 0, 1, 2, …"),
        (edit("model", "vocab", "Ġthe", value=-1), "tokenizer.json: of 263 tokens none has the id 259: ids are 0, 1, 2, …"),
        (edit("model", "vocab", "\ud800", value=263), r"tokenizer.json: model.vocab.token '\ud800' is not Unicode text"),
        (edit("model", "merges", value={}), "tokenizer.json: model.merges is a table of 0, not a list"),
        (edit("model", "merges", 1, value="he"), "tokenizer.json: model.merges.1 is 'he', not two tokens"),
        (edit("model", "merges", 1, value=["h", "e", "l"]), "tokenizer.json: model.merges.1 is a list of 3, not two tokens"),
        (edit("model", "merges", 1, value=["", "he"]), "tokenizer.json: model.merges.1 is a list of 2, not two tokens"),
        (edit("model", "merges", 1, value="h z"), "tokenizer.json: model.merges.1 makes 'hz', but 'hz' is not in the vocabulary"),
        (
            edit("model", "merges", 2, value="Ġ the"),
            "tokenizer.json: model.merges.2 makes 'Ġthe', but 'the' is not in the vocabulary",
        ),
        (edit("truncation", value={"max_length": 3}), f"tokenizer.json: truncation is a table of 1: {ONLY}"),
        (edit("padding", value={}), f"tokenizer.json: padding is a table of 0: {ONLY}"),
        (edit("lowercase", value=True), f"tokenizer.json: 'lowercase' is not a known field: {ONLY}"),
        (edit("model", "cache", value=1), f"tokenizer.json: model.'cache' is not a known field: {ONLY}"),
        (edit("pre_tokenizer", "split", value=1), f"tokenizer.json: pre_tokenizer.'split' is not a known field: {ONLY}"),
        (edit("added_tokens", 0, "regex", value=1), f"tokenizer.json: added_tokens.0.'regex' is not a known field: {ONLY}"),
        (edit("added_tokens", value={}), "tokenizer.json: added_tokens is a table of 0, not a list"),
        (edit("added_tokens", 0, value="x"), "tokenizer.json: added_tokens.0 is 'x', not a table"),
        (edit("added_tokens", 0, "lstrip", value=True), f"tokenizer.json: added_tokens.0.lstrip is true: {ONLY}"),
        (edit("added_tokens", 0, "id", remove=True), "tokenizer.json: added_tokens.0.id is missing"),
        (edit("added_tokens", 0, "id", value=0.0), "tokenizer.json: added_tokens.0.id is 0.0, not a whole number"),
        (
            edit("added_tokens", 0, "id", value=5),
            "tokenizer.json: added token '<|endoftext|>' with the id 5 contradicts the vocabulary",
        ),
        (
            edit("added_tokens", 0, "content", value="Ġthe"),
            "tokenizer.json: added token 'Ġthe' with the id 0 contradicts the vocabulary",
        ),
        (
            edit("added_tokens", 0, value={"id": 259, "content": "Ġthe"}),
            "tokenizer.json: added token 'Ġthe' with the id 259 contradicts the vocabulary",
        ),
        (
            edit("added_tokens", 0, value={"id": 263, "content": ""}),
            "tokenizer.json: added token '' with the id 263 contradicts the vocabulary",
        ),
        (
            edit("added_tokens", 0, value={"id": 999, "content": "<x>"}),
            "tokenizer.json: of 264 tokens none has the id 263: ids are 0, 1, 2, …",
        ),
        (
            edit("added_tokens", value=[{"id": 263, "content": "<x>"}] * 2),
            "tokenizer.json: added_tokens.1.content is '<x>', which an added token before it has",
        ),
        (edit("added_tokens", 0, "content", value="\udc80\n"), r"tokenizer.json: token '\udc80\n' is not Unicode text"),
    ],
)
def test_a_changed_tokenizer_json_is_refused_with_its_field(change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    write_json(tmp_path, change(deepcopy(tokenizer_json(*few()))))
    with pytest.raises(TokenizerError, match=f"^{re.escape(f'{tmp_path}{os.sep}{message}')}$"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("tokenizer.json", b"", "tokenizer.json: is not JSON: Expecting value (line 1, column 1)"),
        ("tokenizer.json", b'{"a": \xff}', "tokenizer.json: is not UTF-8 text (byte 6)"),
        ("tokenizer.json", b"[" * 100_000, "tokenizer.json: is nested too deeply"),
        ("tokenizer.json", b'{"a": 1, "a": 2}', "tokenizer.json: has 'a' twice"),
        (
            "tokenizer.json",
            b" " * (64 * 2**20 + 1),
            "tokenizer.json: has 67,108,865 bytes; a tokenizer file may have 67,108,864",
        ),
        ("vocab.json", b"{}", "merges.txt: there is no such file"),
        ("merges.txt", b"a b\n", "vocab.json: there is no such file"),
        ("tokenizer_config.json", b'{"add_bos_token": 1}', f"tokenizer_config.json: add_bos_token is 1: {ONLY}"),
        ("tokenizer_config.json", b'{"do_lower_case": true}', f"tokenizer_config.json: do_lower_case is true: {ONLY}"),
        (
            "tokenizer_config.json",
            b'{"tokenizer_class": "BertTokenizer"}',
            f"tokenizer_config.json: tokenizer_class is 'BertTokenizer': {ONLY}",
        ),
        ("tokenizer_config.json", b'{"auto_map": {}}', f"tokenizer_config.json: 'auto_map' is not a known field: {ONLY}"),
        ("special_tokens_map.json", b'{"x": "y"}', f"special_tokens_map.json: 'x' is not a known field: {ONLY}"),
    ],
)
def test_files_that_are_not_tokenizers(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TokenizerError, match=f"^{re.escape(f'{tmp_path}{os.sep}{message}')}$"):
        load_tokenizer(tmp_path)


def test_a_number_too_long_for_python_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": ' + "9" * 5000 + "}")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: has an integer of more than 4,300 digits$"):
        load_tokenizer(tmp_path)


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "tokenizer.json")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: is not a file$"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("h e l\n", "merges.txt: line 2 is 'h e l', not two tokens"),
        ("h e\n\nhe\n", "merges.txt: line 4 is 'he', not two tokens"),
        ("q q\n", "merges.txt: line 2 makes 'qq', but 'qq' is not in the vocabulary"),
    ],
)
def test_a_changed_merges_txt_is_refused_with_its_line(lines: str, message: str, tmp_path: Path) -> None:
    write_pair(tmp_path, *few())
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + lines, encoding="utf-8")
    with pytest.raises(TokenizerError, match=f"{re.escape(message)}$"):
        load_tokenizer(tmp_path)


def test_merges_of_what_is_not_bytes_are_refused(tmp_path: Path) -> None:
    vocab, pairs = few()
    vocab |= {"一": len(vocab), "一a": len(vocab) + 1}
    with pytest.raises(TokenizerError, match=r"merges\.txt: line 8 makes '一a', which does not spell bytes$"):
        load_tokenizer(write_pair(tmp_path, vocab, [*pairs, ("一", "a")]))


def test_random_damage_is_refused_with_one_line_or_read(tmp_path: Path) -> None:
    rng = random.Random(5)
    whole = json.dumps(tokenizer_json(*few()), ensure_ascii=False).encode("utf-8")
    refused = 0
    for _ in range(600):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    del data[at : at + rng.randint(1, 20)]
                case 2:
                    data[at:at] = rng.choice([b'"', b",", b"0", b"-", b"[", b"}", b"null", b"\xff", b"1e999", b"NaN"])
                case _:
                    del data[at:]
            data = data or bytearray(b" ")
        (tmp_path / "tokenizer.json").write_bytes(data)
        tokenizer = load_or_message(tmp_path)
        if isinstance(tokenizer, str):
            refused += 1
            assert re.fullmatch(r"[^\n]*tokenizer\.json: [^\n]{1,250}", tokenizer)
        else:
            assert tokenizer.decode(tokenizer.encode("the hé <|endoftext|>\n")) == "the hé <|endoftext|>\n"
            assert len(set(tokenizer.vocabulary)) == len(tokenizer.vocabulary)
    assert refused > 400


JSON_VALUES: list[Any] = [None, True, -1, 0, 1.5, 2**70, "", "x", "\ud800\n", [], [[]], {}, {"type": "BPE"}, ["a", "b"]]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a file, of the vocabulary only two tokens."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    chosen = (item for item in inner if path != ("model", "vocab") or item[0] in ("a", "Ġthe"))
    return [path, *(place for key, item in chosen for place in places(item, (*path, key)))]


def test_a_field_with_any_other_value_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    text = " the ll\n\né"
    whole = tokenizer_json(*few())
    wanted = load_tokenizer(write_json(tmp_path, whole)).encode(text)
    refused = 0
    for place in places(whole)[1:]:
        for value in JSON_VALUES:
            tokenizer = load_or_message(write_json(tmp_path, edit(*place, value=value)(deepcopy(whole))))
            if isinstance(tokenizer, str):
                refused += 1
                assert re.fullmatch(r"[^\n]*tokenizer\.json: [^\n]{1,250}", tokenizer)
            elif (place, value) != (("model", "merges"), []):  # no merges at all is a tokenizer too, another one
                assert tokenizer.encode(text) == wanted, (place, value)
    assert refused > 400


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"pad_token": "the"}, "tokenizer_config.json: pad_token names 'the', which is not an added token"),
        ({"bos_token": {"__type": "AddedToken", "content": "<s>"}}, "bos_token names '<s>', which is not an added token"),
        ({"eos_token": {"content": "<|endoftext|>", "lstrip": True}}, f"eos_token.lstrip is true: {ONLY}"),
        ({"additional_special_tokens": ["<|endoftext|>", "ll"]}, "additional_special_tokens.1 names 'll'"),
        ({"added_tokens_decoder": {"7": {"content": "<|endoftext|>"}}}, "added_tokens_decoder.7 names '<|endoftext|>'"),
        ({"added_tokens_decoder": {"x" * 999: "<|endoftext|>"}}, "is not the id of a token"),
        ({"extra_special_tokens": 3}, "extra_special_tokens is 3, not a list or a table of tokens"),
        ({"mask_token": 3}, "mask_token is 3, not a token"),
        *(
            ({field: True}, f"tokenizer_config.json: {field} is true, which is not what the tokenizer does by its own file")
            for field in ("add_bos_token", "add_eos_token", "add_prefix_space")
        ),
    ],
)
def test_settings_that_would_change_ids_are_refused(settings: dict[str, Any], line: str, tmp_path: Path) -> None:
    """The transformers library looks for special tokens first: with "the" for padding, a text with "the" has other ids."""
    write_json(write_json(tmp_path, tokenizer_json(*few())), settings, "tokenizer_config.json")
    with pytest.raises(TokenizerError, match=re.escape(line)):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    if not any(field.startswith("add_") or field == "added_tokens_decoder" for field in settings):
        write_json(tmp_path, settings, "special_tokens_map.json")
        with pytest.raises(TokenizerError, match=r"special_tokens_map\.json: "):
            load_tokenizer(tmp_path)


@pytest.mark.parametrize("padded", [True, False])
def test_what_the_library_saves_is_read(padded: bool, tmp_path: Path) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    files = write_pair(tmp_path, *few())
    peer = transformers.GPT2Tokenizer(vocab=str(files / "vocab.json"), merges=str(files / "merges.txt"))
    if padded:
        peer.add_special_tokens({"pad_token": "<pad>"})
    peer.save_pretrained(tmp_path / "saved")
    ours = load_tokenizer(tmp_path / "saved")
    text = " the<|endoftext|>ll<pad>"
    assert ours.encode(text) == peer(text)["input_ids"]


def test_settings_as_older_versions_wrote_them(tmp_path: Path) -> None:
    end = {
        "__type": "AddedToken",
        "content": "<|endoftext|>",
        "lstrip": False,
        "normalized": True,
        "rstrip": False,
        "single_word": False,
    }
    settings = {
        "add_bos_token": False, "add_prefix_space": False, "bos_token": end, "eos_token": end, "errors": "replace",
        "model_max_length": 1024, "name_or_path": "gpt2", "pad_token": None, "special_tokens_map_file": None,
        "tokenizer_class": "GPT2Tokenizer", "unk_token": end, "clean_up_tokenization_spaces": True,
        "added_tokens_decoder": {"0": {name: value for name, value in end.items() if name != "__type"} | {"special": True}},
    }  # fmt: skip
    write_json(write_pair(tmp_path, *few()), settings, "tokenizer_config.json")
    write_json(tmp_path, {"bos_token": "<|endoftext|>", "eos_token": end}, "special_tokens_map.json")
    assert load_tokenizer(tmp_path).encode(" the") == [259]
