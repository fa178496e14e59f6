"""The page links to the documentation where it is served beside it, and to nothing where it is not."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from children import PATIENCE
from web.serving import Serving


@pytest.mark.parametrize("built", [True, False])
def test_the_page_links_to_the_documentation(built: bool, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("all of it")
    with Serving(workers=2, docs=tmp_path if built else None) as serving:
        page = httpx.get(f"{serving.address}/", timeout=PATIENCE)
        assert ('<a href="docs/">Documentation</a>' in page.text) == built
        assert page.headers["content-type"].startswith("text/html")
        found = httpx.get(f"{serving.address}/docs/", timeout=PATIENCE)
        assert (found.status_code, found.text == "all of it") == ((200, True) if built else (404, False))
        assert httpx.get(f"{serving.address}/main.js", timeout=PATIENCE).status_code == 200
