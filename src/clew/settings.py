"""Defaults, and where they come from: the environment (`CLEW_...`), then `clew.toml` in this folder, then here."""

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from clew.errors import InputError


class Settings(BaseSettings):
    """What a command uses where its options do not say.

    Attributes:
        encoder: For new indexes.
        extractor: For new indexes.
        passage_tokens: Longest passage, in words; halving it cost 2 points of recall (docs/decisions.md).
        passage_overlap: Words that neighbouring passages share.
        tau: Cosine from which two names are equivalent (GFM-RAG and HippoRAG: 0.8).
        neighbours: Equivalent names kept a name (GFM-RAG and HippoRAG: 100).
        retriever: For search and ask; "auto" for `gfm` where the index has the vectors that it reads, else `pagerank`.
        k: Passages returned.
    """

    model_config = SettingsConfigDict(env_prefix="CLEW_", toml_file="clew.toml", extra="forbid", frozen=True)

    encoder: str = "all-MiniLM-L6-v2"
    extractor: str = "rules"
    passage_tokens: int = Field(default=512, ge=1)
    passage_overlap: int = Field(default=0, ge=0)
    tau: float = Field(default=0.8, gt=0.0, le=1.0)
    neighbours: int = Field(default=100, ge=1)
    retriever: str = "auto"
    k: int = Field(default=5, ge=1)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the environment before the file; read no other source."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings() -> Settings:
    """Return the settings in force here.

    Raises:
        InputError: A variable or a line of `clew.toml` is not a setting, or has a value it cannot take.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        message = f"setting {name!r} is {first['input']!r}: {first['msg']}"
        raise InputError(f"{message}; mend clew.toml or CLEW_{name.upper()}") from error
    except ValueError as error:
        raise InputError(f"clew.toml cannot be read: {error}; write lines such as passage_tokens = 256") from error
