"""Messages for packages that only an extra installs."""

from pathlib import Path

import pytest

from clew.errors import MissingPackageError
from clew.plugins.extras import describe_missing, import_extra, import_package, require_extra


def test_an_installed_module_is_returned() -> None:
    assert import_extra("json.decoder", "eval", "a test").__name__ == "json.decoder"
    require_extra(("json", "math"), "eval", "a test")


def test_the_message_has_purpose_package_extra_and_way_out() -> None:
    with pytest.raises(MissingPackageError) as caught:
        import_extra("no_such.part", "eval", "counting", "count by hand")
    assert str(caught.value) == (
        "counting needs the package no_such, which cannot be imported (No module named 'no_such'): "
        "run pip install 'clew[eval]', or count by hand"
    )
    assert caught.value.exit_code == 2
    with pytest.raises(MissingPackageError, match=r"run pip install two packages$"):
        import_package("no_such", "two packages", "counting")


def test_the_package_that_is_missing_is_named_not_the_one_that_imports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outer_package.py").write_text("import inner_package.part\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackageError, match="counting needs the package inner_package, which"):
        import_extra("outer_package", "eval", "counting")


def test_the_first_module_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingPackageError, match=r"needs the package no_such, .* 'clew\[llm\]'"):
        require_extra(("json", "no_such", "nor_this"), "llm", "asking")


def test_an_import_of_a_whole_command_has_the_same_words() -> None:
    error = ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
    assert describe_missing(error) == (
        "this command needs the package torch, which cannot be imported (No module named 'torch.nn'): "
        "run pip install 'clew[train]'"
    )
    assert describe_missing(ModuleNotFoundError("No module named 'x'", name="x")) == ""
