"""Files are written whole or not at all, whenever that is interrupted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exactformer.files import write_whole


@pytest.mark.parametrize(("after", "left"), [(False, ["file: old"]), (True, ["file: new"])])
def test_an_interruption_is_told_as_what_it_is_and_leaves_nothing_beside(
    after: bool, left: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the file gets its name, and when it has just got it."""
    file, replace = tmp_path / "file", os.replace
    file.write_text("old")

    def interrupted(temporary: str, path: Path) -> None:
        if after:
            replace(temporary, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, "new", 0o600)
    assert [f"{each.name}: {each.read_text()}" for each in tmp_path.iterdir()] == left
