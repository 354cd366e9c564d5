"""The check of a release: what it refuses in the description that an index of packages shows, and in addresses."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.module_of_file import load_module

ROOT = Path(__file__).resolve().parents[2]
HEAD = "Metadata-Version: 2.4\nName: clew\nDescription-Content-Type: text/markdown\n\n"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_module(ROOT / "tools" / "release_check.py")


def test_a_description_without_relative_links_passes(tool: ModuleType) -> None:
    text = "# Clew\n\n[a site](https://example.org/a#b), `docs/tutorial.md`\n\n```python\nx[0](y)\n```\n"
    tool.check_description(HEAD + text)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (HEAD + "# Clew\n\nthe [tutorial](docs/tutorial.md#one)\n", "links to docs/tutorial.md"),
        (HEAD + "\n", "not that of README.md"),
        (HEAD.replace("markdown", "plain") + "# Clew\n", "not Markdown"),
        (HEAD.replace("Description-Content-Type: ", "Note: ") + "# Clew\n", "not Markdown"),
    ],
)
def test_a_description_that_leads_nowhere_is_refused(tool: ModuleType, metadata: str, said: str) -> None:
    with pytest.raises(tool.CheckError, match=said):
        tool.check_description(metadata)


@pytest.mark.parametrize(
    ("urls", "said"),
    [
        ({}, None),
        (dict.fromkeys(("Homepage", "Documentation", "Source", "Issues", "Changelog"), "https://example.org"), None),
        (
            {"Homepage": "https://example.org", "Source": "https://example.org"},
            "lacks Documentation, Issues, Changelog",
        ),
    ],
)
def test_addresses_are_all_there_or_none(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, urls: dict[str, str], said: str | None
) -> None:
    table: dict[str, Any] = {"version": "1"} | ({"urls": urls} if urls else {})
    monkeypatch.setattr(tool, "project", lambda: table)
    if said is None:
        tool.check_addresses()
    else:
        with pytest.raises(tool.CheckError, match=said):
            tool.check_addresses()


def test_the_links_of_the_readme_lead_to_files(tool: ModuleType) -> None:
    tool.check_readme()
    tool.check_versions()
