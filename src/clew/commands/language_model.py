"""The one language model of a command, `--model`, in the options that take a language model by the word `llm`."""

from clew.commands.options import RetrieverOptions
from clew.errors import InputError

LLM = "llm"


def fill_model(option: str, text: str | None, model: str | None) -> str | None:
    """Return `llm:MODEL` for the word `llm` alone, with the model that is given, else that of the settings.

    Raises InputError, naming the option, where there is no model.
    """
    return text if text != LLM else f"{LLM}:{_require_model(option, model)}"


def refuse_model(options: RetrieverOptions, model: str | None) -> None:
    """Raise InputError where a search is given a language model that nothing in it asks."""
    if model and options.rerank != LLM:
        raise InputError(f"--model is {model!r}, and a search writes no answer: add --rerank llm, or use clew ask")


def fill_extractor(extractor: str | None, model: str | None) -> str | None:
    """Return the extractor with its language model; raises InputError where there is a model that it does not ask."""
    if model and extractor != LLM:
        seen = f"--extractor is {extractor!r}" if extractor else "there is no --extractor"
        raise InputError(f"--model is {model!r}, and {seen}: give --extractor llm, or leave --model out")
    return fill_model("--extractor", extractor, model)


def _require_model(option: str, model: str | None) -> str:
    from clew.settings import load_settings

    if name := model or load_settings().model:
        return name
    raise InputError(f"{option} is {LLM}, and there is no --model: give one, such as openai:NAME, or set CLEW_MODEL")
