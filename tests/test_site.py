"""The site is built from all documents: none is left out of its contents, and no link of it leads nowhere."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def contents() -> list[str]:
    """Paths of the pages in the site's table of contents."""
    return re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_page_is_in_the_contents() -> None:
    documents = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    pages = sorted(name for name in documents if not name.startswith("decisions/20"))  # which their index lists
    assert sorted(contents()) == pages


def test_the_reference_names_what_the_package_exports() -> None:
    import clew
    from clew import errors

    named = re.findall(r"^::: clew\.[\w.]+\.(\w+)$", (ROOT / "docs" / "reference.md").read_text("utf-8"), re.MULTILINE)
    assert not [name for name in named if not hasattr(clew, name) and name != "errors"]
    assert not [name for name in clew.__all__ if name not in named and not hasattr(errors, name)]


def test_each_method_has_a_page_with_a_drawing_and_its_published_form() -> None:
    for name in ("gfm-rag", "gear", "frag", "gcn-retriever", "g-rag"):
        text = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
        assert f"../images/methods/{name}.svg" in text
        assert (ROOT / "docs" / "images" / "methods" / f"{name}.svg").is_file()
        assert "preset=paper" in text or "preset paper" in text
        assert "**What our default does differently.**" in text
