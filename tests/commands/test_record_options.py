"""Options made from records: spelling, bounds and defaults of fields, nested records, and the record that is built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from clew.commands.record_options import Only, Without, expand_records


@dataclass(frozen=True)
class Loop:
    epochs: Annotated[int, Field(ge=1, le=9, description="Passes.")] = 5
    decay: float = 0.1
    seed: Annotated[int, Field(description="Random seed.")] = 0


@dataclass(frozen=True)
class Settings:
    kind: Annotated[Literal["index", "amr"], Field(alias="graph", description="Graph.")] = "index"
    names: Annotated[tuple[str, ...], Field(description="Names.")] = ("a", "b")
    text: Annotated[bool, Field(description="Text.")] = False
    start: Annotated[Path | None, typer.Option("--from", help="Start.")] = None
    loop: Loop = field(default_factory=lambda: Loop(epochs=4, decay=0.7))

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        return {"text": given.get("graph") == "amr"}


CALLS: list[tuple[Any, ...]] = []


def call(command: Any, *arguments: str) -> Any:
    """Return the record that a command is called with, or the message that it is refused with."""
    app = typer.Typer(rich_markup_mode=None)
    app.command()(expand_records(command))
    CALLS.clear()
    done = CliRunner().invoke(app, arguments)
    return CALLS[0] if done.exit_code == 0 else done.output


def plain(question: str, settings: Settings) -> None:
    CALLS.append((question, settings))


def test_fields_that_are_not_given_keep_their_defaults() -> None:
    assert call(plain, "who") == ("who", Settings())


def test_an_option_sets_its_field_and_no_other() -> None:
    options = ("--graph", "amr", "--no-text", "--names", "c, d", "--from", "x", "--epochs", "7")
    wanted = Settings("amr", ("c", "d"), text=False, start=Path("x"), loop=Loop(7, 0.7, 0))
    assert call(plain, "who", *options) == ("who", wanted)


def test_a_default_depends_on_what_is_given() -> None:
    assert call(plain, "who", "--graph", "amr")[1].text
    assert not call(plain, "who", "--graph", "index")[1].text
    assert call(plain, "who", "--graph", "index", "--text")[1].text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epochs", "0"), "--epochs"),
        (("--epochs", "10"), "--epochs"),
        (("--graph", "tree"), "'tree' is not one of 'index', 'amr'"),
        (("--decay", "1"), "--decay"),
        (("--kind", "amr"), "--kind"),
    ],
)
def test_values_out_of_bounds_and_fields_without_an_option_are_refused(options: tuple[str, str], message: str) -> None:
    assert message in call(plain, "who", *options)


def test_a_command_may_leave_fields_out() -> None:
    def without(settings: Annotated[Settings, Without("seed", "names")]) -> None:
        CALLS.append((settings,))

    assert "--seed" in call(without, "--seed", "1")
    assert call(without, "--epochs", "2") == (Settings(loop=Loop(2, 0.7, 0)),)


def test_a_command_may_have_defaults_of_its_own_and_a_few_fields() -> None:
    def few(settings: Annotated[Settings, Only("seed")] = Settings(start=Path("own"), loop=Loop(1))) -> None:
        CALLS.append((settings,))

    assert "--epochs" in call(few, "--epochs", "1")
    assert call(few, "--seed", "3") == (Settings(start=Path("own"), loop=Loop(1, 0.1, 3)),)


def test_a_field_without_a_default_is_required() -> None:
    @dataclass(frozen=True)
    class Questions:
        questions: Annotated[Path, typer.Option(help="File.")]

    def command(own: Questions) -> None:
        CALLS.append((own,))

    command.__annotations__["own"] = Questions
    assert "--questions" in call(command)
    assert call(command, "--questions", "x") == (Questions(Path("x")),)


def test_two_options_of_one_name_are_a_fault_of_the_command() -> None:
    def twice(one: Settings, other: Settings) -> None:
        raise AssertionError

    with pytest.raises(TypeError, match="twice has two options called 'epochs'"):
        expand_records(twice)
