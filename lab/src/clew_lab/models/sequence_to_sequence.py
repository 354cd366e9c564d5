"""Sequence-to-sequence models of `transformers`, which write one text for another, such as a graph in linear form."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, final

from clew.errors import InputError, ProviderError
from clew.models.hub import check_model, hash_weights
from clew.models.threads import choose_device
from clew.models.validation import first_line, map_load_errors, replace_surrogates
from clew.plugins.extras import import_package

_MAX_TOKENS = 1024  # read, and written, at most


@dataclass(frozen=True, slots=True)
class Marks:
    """Tokens around texts, each used if the model's vocabulary has it.

    Attributes:
        suffix: Behind a text that is read, in the place of the last tokens of a long one.
        start: Before the first token that is written.
        end: That ends a text that is written.
    """

    suffix: tuple[str, ...] = ()
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    tokenizer: Any
    fingerprint: str
    max_tokens: int


@final
class SequenceToSequenceModel:
    """A model of the hub or of a folder, opened at its first use.

    Args:
        name: "owner/name" on the hub, or a folder.
        marks: Tokens around texts.
        beams: Width of the beam search.
        device: "auto", "cpu", "cuda" or "mps".
        otherwise: What to do where the model cannot be opened, for the end of messages.
    """

    def __init__(
        self, name: str, marks: Marks, beams: int = 5, device: str = "auto", otherwise: str = "choose another model"
    ) -> None:
        if not name.strip():
            raise InputError(f"the model is {name!r}; wanted a folder or a name on the Hugging Face hub")
        self._name = name
        self._marks = marks
        self._beams = beams
        self._device = device
        self._otherwise = otherwise
        self._model: _Loaded | None = None
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, the tokenizer, the marks and the width of the search."""
        digest = blake2b(f"{self._load().fingerprint} {self._marks} {self._beams}".encode(), digest_size=16)
        return digest.hexdigest()

    def write(self, texts: Sequence[str]) -> list[str]:
        """Return what the model writes for each text, one by one, so that none depends on the others.

        Of a long text the first 1024 tokens are read, or fewer if the model is limited to fewer. Special tokens of the
        tokenizer are left out of what is written.

        Raises:
            ProviderError: The model cannot be opened, or fails.
        """
        loaded = self._load()
        try:
            return [self._write_one(loaded, replace_surrogates(text)) for text in texts]
        except (RuntimeError, ValueError, IndexError) as error:
            raise ProviderError(f"the model {self._name!r} failed ({first_line(error)}): {self._otherwise}") from error

    def _write_one(self, loaded: _Loaded, text: str) -> str:
        import torch

        tokenizer, marks = loaded.tokenizer, self._marks
        known = tokenizer.get_vocab()
        suffix = [known[mark] for mark in marks.suffix if mark in known]
        read = tokenizer(text, truncation=True, max_length=loaded.max_tokens - len(suffix))["input_ids"] + suffix
        options = {
            "decoder_start_token_id": known.get(marks.start, loaded.model.config.decoder_start_token_id),
            "eos_token_id": known.get(marks.end, tokenizer.eos_token_id),
            "forced_bos_token_id": None,
            "forced_eos_token_id": None,
        }
        ids = torch.tensor([read], device=loaded.model.device)
        with torch.inference_mode():
            written = loaded.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=self._beams,
                max_length=loaded.max_tokens,
                do_sample=False,
                no_repeat_ngram_size=0,
                **options,
            )[0].tolist()
        left_out = {*tokenizer.all_special_ids, known.get(marks.start), known.get(marks.end)} - {None}
        plain: str = tokenizer.decode([token for token in written if token not in left_out])
        return plain

    def _load(self) -> _Loaded:
        with self._lock:
            if self._model is None:
                self._model = self._open()
            return self._model

    def _open(self) -> _Loaded:
        library = import_package("transformers", "clew-lab", f"the model {self._name}", self._otherwise)
        check_model(self._name, None, "model", self._otherwise)
        device = choose_device(self._device)
        with map_load_errors(
            lambda reason: (
                f"cannot open the model {self._name!r}: {reason}; wanted a sequence-to-sequence model in a folder or "
                f"on the Hugging Face hub; check the name, or {self._otherwise}"
            )
        ):
            model = library.AutoModelForSeq2SeqLM.from_pretrained(self._name).to(device).eval()
            tokenizer = library.AutoTokenizer.from_pretrained(self._name)
        positions = getattr(model.config, "max_position_embeddings", None) or _MAX_TOKENS
        digest = blake2b(digest_size=16)
        hash_weights(digest, model.state_dict())
        digest.update(tokenizer.backend_tokenizer.to_str().encode())
        return _Loaded(model, tokenizer, digest.hexdigest(), min(positions, _MAX_TOKENS))
