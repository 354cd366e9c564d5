"""Defaults, and where they come from: the environment (`CLEW_...`), then `clew.toml` in this folder, then here."""

import json
import logging
import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.errors import InputError
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import Budget, Prices
from clew.models.llm.call_settings import CallSettings
from clew.plugins.spec import nearest
from clew.types import AUTO_RETRIEVER

_logger = logging.getLogger(__name__)
_SECRET_NAME = re.compile("key|token$|secret|password", re.IGNORECASE)
_USER_OF_ADDRESS = re.compile(r"//[^/@\s]*@")
_FILE = Path("clew.toml")  # in the folder that a command runs in
_Price = Annotated[float, Field(ge=0.0, le=1e9)]
_PREFIX = "clew_"  # of variables of the environment, in capital letters or not
OTHER_VARIABLES = frozenset({"clew_api_key", "clew_bench", "clew_cache", "clew_data", "clew_embeddings_url"})
"""Variables of the environment that are read elsewhere: keys, folders, benchmarks, and servers that run."""
_unknown_names: set[str] = set()  # variables that were warned of


class Settings(BaseModel):
    """Defaults of the commands and of `clew.create`; what is not given comes from the environment, then the file."""

    # `protected_namespaces`: older versions of pydantic warn of fields that begin with "model".
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, protected_namespaces=())

    def __init__(self, **values: Any) -> None:
        super().__init__(**_merge(_read_file(), _read_environment(), values))

    @property
    def new_extractor(self) -> str:
        """The extractor of new indexes; `auto` reads the states of the default encoder, whose runs make the vectors."""
        is_default = self.encoder == type(self).model_fields["encoder"].default
        return self.extractor or ("auto" if is_default else "rules")

    index: str = ""  # the index of commands that are given none; "" for none
    encoder: str = "all-MiniLM-L6-v2-int8"  # for new indexes
    device: str = "auto"  # where models run, checked where one does: auto (a GPU if there is one), cpu, cuda or mps
    extractor: str | None = None  # for new indexes: None is `auto` with the default encoder, `rules` with any other
    # Longest, in words; 256 cost 2 points of recall (docs/decisions/index.md).
    passage_tokens: int = Field(default=512, ge=1, le=1_000_000)
    passage_overlap: int = Field(default=0, ge=0, le=1_000_000)  # words that neighbouring passages share
    time_field: str = ""  # field that holds the time of documents, in new indexes; "" for `date`, `published` and so on
    sentences: Literal["vectors", "none"] = "vectors"  # whether sentences get vectors, in new indexes
    # "auto": frag for facts without passages, gfm where its weights read the vectors, hybrid for the encoder of many
    # languages, else chains.
    retriever: str = AUTO_RETRIEVER
    # Unknown names in questions: replaced by the most similar known name, or left as they are.
    unknown_names: Literal["similar", "exact"] = "similar"
    # What links the names in questions to entities.
    linker: Literal["exact", "embedding", "exact+embedding", "maxsim", "exact+maxsim"] = "exact"
    linker_floor: float = Field(default=0.8, ge=-1.0, le=1.0)  # least cosine of names linked by embedding or maxsim
    question_names: str = "rules"  # what finds the names in questions: rules, or a language model, `provider:name`
    k: int = Field(default=5, ge=1, le=1_000_000_000)  # passages returned
    model: str = ""  # language model that writes answers, `provider:name`; "" for none
    base_url: str = ""  # of a server that speaks OpenAI's protocol; "" for the provider's own
    extraction_calls: int = Field(default=2, ge=1, le=2)  # a passage: names and triples at once, or apart (HippoRAG)
    calls_at_once: int = Field(default=16, ge=1, le=1024)  # to a language model, at most
    call_timeout: float = Field(default=120.0, gt=0.0, le=86_400.0)  # seconds for one answer of a language model
    # Seconds that one answer of a language model may wait in all because its server asks for it ("Retry-After").
    call_wait: float = Field(default=600.0, ge=0.0, le=86_400.0)
    reply_tokens: int = Field(default=2048, ge=1, le=10_000_000)  # longest reply of a language model
    temperature: float = Field(default=0.0, ge=0.0, le=100.0)  # of a language model; 0 for the likeliest words
    model_output: Literal["prompted", "native"] = "prompted"  # where a reply's schema stands
    call_cache: bool = True  # whether replies of language models are kept and used again
    max_cost: float | None = Field(default=None, ge=0.0, le=1e9)  # money that one command may spend on language models
    max_tokens: int | None = Field(
        default=None, ge=0, le=1_000_000_000_000
    )  # tokens that one command may spend, in and out together
    # By model, money for a million tokens in and for a million out; before the public price table.
    prices: dict[str, tuple[_Price, _Price]] = Field(default_factory=dict)

    def make_llm_factory(self) -> LLMClientFactory:
        """Return how language models are asked."""
        calls = CallSettings(
            base_url=self.base_url,
            max_concurrency=self.calls_at_once,
            max_wait=self.call_wait,
            timeout=self.call_timeout,
            reply_tokens=self.reply_tokens,
            temperature=self.temperature,
            output=self.model_output,
        )
        return LLMClientFactory(calls, self.call_cache, Budget(self.max_tokens, self.max_cost), Prices(self.prices))


def _read_file() -> dict[str, Any]:
    if not _FILE.exists():
        return {}
    if not _FILE.is_file():
        raise InputError("clew.toml is no file: remove it, or write settings into a file of that name")
    with _FILE.open("rb") as file:
        try:
            return {name.lower(): value for name, value in tomllib.load(file).items()}
        except RecursionError as error:
            raise tomllib.TOMLDecodeError("its brackets are nested too deep") from error


def _read_environment() -> dict[str, Any]:
    """Return the settings that the environment names; others that begin like them, such as keys, are none of ours.

    An empty CLEW_DEVICE names none, as launchers of jobs set it.
    """
    variables = {name.lower(): text for name, text in os.environ.items()}
    names = [name for name in Settings.model_fields if _PREFIX + name in variables]
    names = [name for name in names if name != "device" or variables[_PREFIX + name]]
    for line in describe_unknown_variables():
        if line not in _unknown_names:
            _unknown_names.add(line)
            _logger.warning(line)
    return {name: _read_value(name, variables[_PREFIX + name]) for name in names}


def describe_unknown_variables() -> list[str]:
    """Return a line for each variable of the environment that begins with CLEW_ and that nothing reads."""
    known = {f"{_PREFIX}{name}" for name in Settings.model_fields} | OTHER_VARIABLES
    unknown = sorted(name for name in os.environ if name.lower().startswith(_PREFIX) and name.lower() not in known)
    return [f"{name} is set, and nothing reads it{_suggest(name.lower(), known)}" for name in unknown]


def _suggest(name: str, known: Iterable[str]) -> str:
    """Return the variable that may be meant; what all of them begin with makes none similar to another."""
    close = nearest(name.removeprefix(_PREFIX), [other.removeprefix(_PREFIX) for other in known])
    return f"; did you mean {(_PREFIX + close).upper()}?" if close else ""


def _read_value(name: str, text: str) -> Any:
    if name != "prices":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # is refused, as no mapping


def _merge(*sources: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of all sources, the last of a name; mappings are joined, entry by entry."""
    merged: dict[str, Any] = {}
    for source in sources:
        for name, value in source.items():
            earlier = merged.get(name)
            merged[name] = {**earlier, **value} if isinstance(earlier, dict) and isinstance(value, dict) else value
    return merged


def _describe_value(name: str, value: Any, fault: str) -> str:
    """Return ` is VALUE`; nothing for what may be a secret: an unknown setting, or one whose name tells so."""
    if fault == "extra_forbidden" or _SECRET_NAME.search(name):
        return ""
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        return " is too long a number"
    return f" is {_USER_OF_ADDRESS.sub('//...@', text)[:200]}"


def _describe_unknown_setting(name: str) -> str:
    close = nearest(name, Settings.model_fields)
    if "synonym" in name:
        return f"clew.toml has {name!r}, which is gone since Clew 0.5: delete it; synonyms are a setting of hipporag"
    hint = f"did you mean {close}?" if close else f"there are {', '.join(Settings.model_fields)}"
    return f"clew.toml has {name!r}, and there is no such setting; {hint}"


def load_settings() -> Settings:
    """Return the settings in force here; an unknown setting or a value it cannot take is an InputError."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise InputError(_describe_unknown_setting(name)) from error
        message = f"setting {name!r}{_describe_value(name, first['input'], first['type'])}: {first['msg']}"
        raise InputError(f"{message}; correct clew.toml or CLEW_{name.upper()}") from error
    except ValueError as error:
        raise InputError(f"clew.toml cannot be read: {error}; write lines such as passage_tokens = 256") from error
