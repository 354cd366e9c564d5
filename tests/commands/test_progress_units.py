"""Lines of progress name the unit of what they count."""

import pytest

from clew.commands import progress


@pytest.mark.parametrize(
    ("stage", "total", "expected"),
    [
        ("indexing", 71_027, "indexing: 1,000 of 71,027 bytes, "),
        ("indexing", 0, "indexing: 1,000 characters, "),
        ("importing", 0, "importing: 1,000, "),
    ],
)
def test_indexing_counts_bytes_of_files_and_characters_of_standard_input(
    stage: str, total: int, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.0)
    with progress.progress_on_stderr() as show:
        show(stage, 1_000, total)
    assert capsys.readouterr().err.startswith(expected)
