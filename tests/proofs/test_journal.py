"""Journals: what a kill or a fault of the disk can make of them is read as far as it is whole, or refused in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactformer.proofs import journal as journals
from exactformer.proofs.journal import Journal, JournalError

RESULTS = [(3, "proved"), (0, {"token": "é\n", "places": [1, 2]}), (1, None), (4, [])]
CASES = 6


def written(path: Path) -> bytes:
    with Journal(path, "theorem", CASES) as journal:
        journal.append((index, json.dumps(result)) for index, result in RESULTS)
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("whole") / "journal")


def read(path: Path) -> list[tuple[int, object]]:
    with Journal(path, "theorem", CASES) as journal:
        found = list(journal.finished())
        assert {index for index, _ in found} == {index for index in range(CASES) if journal.done[index]}
        return found


def test_a_journal_gives_back_what_it_was_told(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    assert read(tmp_path / "journal") == RESULTS
    for line in (tmp_path / "journal").read_text().splitlines():
        json.loads(line)


def test_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", "theorem", CASES) as journal:
        journal.append([(1, json.dumps([0.1, 1e-300, 7]))])
    ((_, result),) = read(tmp_path / "journal")
    assert [(type(value), value) for value in result] == [(float, 0.1), (float, 1e-300), (int, 7)]


def test_a_journal_cut_at_any_byte_keeps_its_whole_lines_and_goes_on(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)  # a thousand of them take their time
    path = tmp_path / "journal"
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = RESULTS[: max(whole[:size].count(b"\n") - 1, 0)]
        assert read(path) == kept
        with Journal(path, "theorem", CASES) as journal:
            journal.append((index, json.dumps(result)) for index, result in RESULTS[len(kept) :])
        assert path.read_bytes() == whole


@given(data=st.data())
def test_changed_bytes_are_noticed(tmp_path_factory: pytest.TempPathFactory, whole: bytes, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "changed journal"
    place = data.draw(st.integers(0, len(whole) - 1))
    change = bytes(data.draw(st.lists(st.integers(0, 255), min_size=1, max_size=4)))
    damaged = whole[:place] + change + whole[place + len(change) :]
    path.write_bytes(damaged)
    if damaged == whole:
        assert read(path) == RESULTS
    elif b"\n" not in damaged[whole.rindex(b"\n", 0, -1) + 1 :] and damaged.startswith(whole[: whole.rindex(b"\n", 0, -1) + 1]):
        assert read(path) == RESULTS[:-1]  # the last line lost its end: that is what a kill leaves
    else:
        with pytest.raises(JournalError, match=r"^.*changed journal: .*damaged.*$"):
            read(path)
        assert path.read_bytes() == damaged


@given(order=st.lists(st.integers(0, len(RESULTS)), min_size=1, max_size=7))
def test_lines_moved_doubled_or_left_out_are_noticed(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, order: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "moved journal"
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[place] for place in order))
    if order == list(range(len(order))):
        assert read(path) == RESULTS[: len(order) - 1]
    else:
        with pytest.raises(JournalError, match="damaged"):
            read(path)


NONSENSE = [b"6,1", b"-1,1", b"true,1", b"0", b"0,1,2", b'"a",1', b"0,", b"0," + b"[" * 100_000, b'0,"\xff"']


@pytest.mark.parametrize("bodies", [*([body] for body in NONSENSE), [b"0,1", b"0,1"]])
def test_well_sealed_nonsense_is_refused(tmp_path: Path, whole: bytes, bodies: list[bytes]) -> None:
    path = tmp_path / "journal"
    text = whole[: whole.index(b"\n") + 1]
    checksum = text[2:18]
    for body in bodies:
        checksum, line = journals._seal(checksum, body)
        text += line
    path.write_bytes(text)
    with pytest.raises(JournalError, match=rf"^{path}: line {len(bodies) + 1} is damaged; delete it, or give another --journal$"):
        Journal(path, "theorem", CASES)


def test_another_theorem_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    before = written(path)
    with pytest.raises(
        JournalError,
        match=rf'^{path}: is the journal of another proof: 6 cases, fingerprint "theorem", not 6 cases, "other" .*delete it',
    ):
        Journal(path, "other", CASES)
    with pytest.raises(JournalError, match=r'another proof: 6 cases, fingerprint "theorem", not 7 cases, "theorem" '):
        Journal(path, "theorem", 7)
    assert path.read_bytes() == before


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    written(path)
    monkeypatch.setattr(journals, "_VERSION", 3)
    with pytest.raises(JournalError, match=rf"^{path}: is a journal of version 2, not 3; delete it, or give another --journal$"):
        Journal(path, "theorem", CASES)


@pytest.mark.parametrize("content", [b"x", b"\n", b"# Notes\nof mine\n", b"\0" * 100, b"[" * (1 << 21)])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(
        JournalError, match=rf"^{path}: is not the journal of a proof, or its first line is damaged; give another --journal$"
    ):
        Journal(path, "theorem", CASES)
    assert path.read_bytes() == content


def test_an_endless_line_is_refused_without_reading_it_whole(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "journal"
    with path.open("wb") as file:
        file.write(whole)
        file.truncate(1 << 40)
    with pytest.raises(JournalError, match=r"line 6 is damaged"):
        Journal(path, "theorem", CASES)


def test_a_result_too_long_for_a_line_is_refused_with_its_case(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", "theorem", CASES) as journal:
        longest = json.dumps("x" * (journals.LONGEST - 26))
        journal.append([(1, longest)])
        with pytest.raises(JournalError, match=r"journal: a line of 67,108,865 bytes \(case 2\); a journal takes 67,108,864$"):
            journal.append([(2, longest[:-1] + 'x"')])
    assert [index for index, _ in read(tmp_path / "journal")] == [1]


def test_a_journal_may_be_asked_to_take_longer_results(tmp_path: Path) -> None:
    for longest in (100, 200):
        with Journal(tmp_path / str(longest), "t", 3, longest=longest) as journal:
            journal.append([(0, json.dumps("x" * (longest - 26)))])
            with pytest.raises(JournalError, match=rf"a journal takes {longest}$"):
                journal.append([(1, json.dumps("x" * (longest - 25)))])
        with Journal(tmp_path / str(longest), "t", 3, longest=longest) as journal:
            assert [index for index, _ in journal.finished()] == [0]


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    places = {"": "cannot be opened", "no/journal": "cannot be opened", "pipe": "not a plain file"}
    for place, why in places.items():
        with pytest.raises(JournalError, match=f"^{tmp_path / place}: {why}"):
            Journal(tmp_path / place, "theorem", CASES)


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, line: bytes) -> int:
        if len(line) < 15:
            raise OSError(28, "No space left on device")
        return real(file, line[:-10])

    with Journal(tmp_path / "journal", "theorem", CASES) as journal:
        journal.append([(1, "1")])
        real = os.write
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(JournalError, match=r"journal: cannot be written: No space left on device; give a --journal "):
            journal.append([(2, "22")])
        monkeypatch.undo()
    assert read(tmp_path / "journal") == [(1, 1)]


def test_two_at_once_are_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    program = f"""if True:
        import pathlib, sys, time
        from exactformer.proofs.journal import Journal
        journal = Journal(pathlib.Path(sys.argv[1]), "theorem", {CASES})
        journal.append([(2, "2")])
        print("open", flush=True)
        time.sleep(60)"""
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(JournalError, match=rf"^{path}: in use by another run; wait for it, or give another --journal$"):
            Journal(path, "theorem", CASES)
        holder.kill()
        holder.wait()
    with Journal(path, "theorem", CASES) as journal:
        assert list(journal.finished()) == [(2, 2)]
        with pytest.raises(JournalError, match="in use by another run"):
            Journal(path, "theorem", CASES)


def test_a_journal_replaced_while_it_is_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    written(path)

    def replaced(file: int, operation: int) -> None:
        path.rename(tmp_path / "old")
        written_elsewhere.rename(path)

    written_elsewhere = tmp_path / "new"
    written(written_elsewhere)
    monkeypatch.setattr(journals.fcntl, "flock", replaced)
    with pytest.raises(JournalError, match="replaced by another run while it was opened"):
        Journal(path, "theorem", CASES)
