"""The settings of a new index: which are stored in it, and a hash of all that decides what it would hold."""

from hashlib import blake2b
from typing import Any

from clew.indexing.extraction.registry import asks_model, given_extractor_name, open_extractor
from clew.indexing.pipeline import EXTRACTION_CALLS
from clew.models.encoders.registry import accept_encoder, open_encoder
from clew.models.torch_threads import check_device
from clew.protocols import Encoder, Extractor
from clew.settings import Settings
from clew.store.schema import ALIASES, SENTENCES, WITHOUT_ALIASES


def choose_settings(settings: Settings, device: str | None, given: object = None) -> tuple[Settings, Encoder]:
    """Return the settings of a new index on a device, and its encoder; errors are those of `create`.

    `given` is an encoder in the place of the one that the settings name, None for that one.
    """
    chosen = settings if device is None else settings.model_copy(update={"device": device})
    check_device(chosen.device)
    if given is None:
        return chosen, open_encoder(chosen.encoder, device=chosen.device)
    encoder = accept_encoder(given)
    return chosen.model_copy(update={"encoder": encoder.name}), encoder


def stored_settings(chosen: Settings, encoder: Encoder, extractor: Extractor | None = None) -> dict[str, Any]:
    """Return the settings that are stored in an index; `extractor` is one that was given as an object."""
    others = {
        name: getattr(chosen, name)
        for name in ("synonym_names", "synonym_relative")
        if getattr(chosen, name) != Settings.model_fields[name].default
    }
    return {
        "encoder": encoder.name,
        "encoder_fingerprint": encoder.fingerprint,
        "extractor": chosen.new_extractor if extractor is None else given_extractor_name(extractor),
        "passage_tokens": chosen.passage_tokens,
        "passage_overlap": chosen.passage_overlap,
        SENTENCES: chosen.sentences,
        "synonym_threshold": chosen.synonym_threshold,
        "max_synonyms": chosen.max_synonyms,
        EXTRACTION_CALLS: chosen.extraction_calls,
        **others,  # indexes made before have none
        **({ALIASES: chosen.aliases} if chosen.aliases != WITHOUT_ALIASES else {}),
    }


def hash_new_index_settings(settings: Settings, device: str | None = None) -> str:
    """Return a hash of all that decides what a new index holds beside its documents; errors are those of `create`."""
    chosen, encoder = choose_settings(settings, device)
    stored = stored_settings(chosen, encoder)
    content = "" if asks_model(chosen.new_extractor) else open_extractor(chosen.new_extractor).fingerprint
    return blake2b(repr((sorted(stored.items()), content)).encode(), digest_size=6).hexdigest()
