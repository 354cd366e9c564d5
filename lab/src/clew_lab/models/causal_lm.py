"""A causal language model of `transformers` and its tokenizer, loaded on first use and shared by graph readers."""

import inspect
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from clew.errors import InputError, ProviderError
from clew.models.hub import check_model, hidden_loading_bars
from clew.models.validation import first_line, map_load_errors
from clew.plugins.extras import import_package

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model ready to run."""

    network: Any  # model of `transformers`, in evaluation mode
    tokenizer: Any  # tokenizer of `transformers`
    width: int  # width of the token embeddings
    max_positions: int  # maximum number of tokens; 0 where unknown
    end_token: int  # the token that ends an answer
    stop_tokens: frozenset[int]  # all tokens that end generation
    forward_arguments: frozenset[str]  # argument names of the forward pass

    @property
    def fingerprint(self) -> str:
        """Hash of the weights, the tokenizer, the stop tokens and the configuration."""
        config = self.network.config.to_dict()
        settings = (
            sorted(self.tokenizer.get_vocab().items()),
            str(getattr(self.tokenizer, "chat_template", None)),
            sorted(self.stop_tokens),
            sorted((key, repr(value)) for key, value in config.items() if not key.startswith(("_", "transformers_"))),
        )
        digest = blake2b(repr(settings).encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return f"causal-{weights_digest(self.network.state_dict().items())}-{digest}"

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return a text's token ids; with `special` after the tokenizer's start tokens."""
        encoded = self.tokenizer(text, add_special_tokens=special, return_attention_mask=False, verbose=False)
        ids: list[int] = list(encoded["input_ids"])
        # Some tokenizers append an end token too, but the answer is yet to follow.
        return ids[:-1] if special and ids and ids[-1] in self.stop_tokens else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids up to the first stop token, without special tokens."""
        end = next((index for index, token in enumerate(ids) if token in self.stop_tokens), len(ids))
        return str(self.tokenizer.decode(list(ids[:end]), skip_special_tokens=True)).strip()


@final
@dataclass(slots=True, eq=False)
class CausalModel:
    """A model that `transformers` opens as a causal language model; only safetensors weights are read."""

    name: str  # a folder, or a name on the hub, which is not asked while HF_HUB_OFFLINE is set
    device: str = field(default="cpu", kw_only=True)
    dtype: str = field(default="float32", kw_only=True)  # name of a torch type, for the weights
    trainable: bool = field(default=False, kw_only=True)  # for training a small model from scratch; else frozen
    _loaded: LoadedModel | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def width(self) -> int:
        """Width of the token embeddings; loads the model."""
        return self.load().width

    def parameters(self) -> "list[Parameter]":
        """Return the trainable weights, which loads the model; [] where they are frozen."""
        return list(self.load().network.parameters()) if self.trainable else []

    def load(self) -> LoadedModel:
        """Return the model, opened once.

        Raises MissingPackageError without `transformers`, InputError without the device or type, else ProviderError.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = _open_model(self.name, self.device, self.dtype)
                self._loaded.network.requires_grad_(self.trainable)
            return self._loaded

    def save(self, folder: str | Path) -> None:
        """Write weights and tokenizer to a folder that `CausalModel` can open, else raise a ProviderError."""
        loaded = self.load()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)  # transformers silently ignores the path of a file
            loaded.network.save_pretrained(str(folder))
            loaded.tokenizer.save_pretrained(str(folder))
        except OSError as error:
            raise ProviderError(f"cannot write the model to {folder}: {error}; choose another folder") from error


def weights_digest(weights: "Iterable[tuple[str, Tensor]]") -> str:
    """Return a hash of names, shapes, types and values of weights (...,); takes about a second for a gigabyte."""
    import torch

    digest = blake2b(digest_size=8)
    for name, weight in weights:
        values = weight.detach().cpu().contiguous()
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _open_model(name: str, device: str, dtype: str) -> LoadedModel:
    torch, transformers = (import_package(one, "clew-lab", f"the reader {name}") for one in ("torch", "transformers"))
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or not kind.is_floating_point:
        raise InputError(f"the type of the weights is {dtype!r}; wanted float32, bfloat16 or float16")
    _check_device(torch, device)
    check_model(name, None, "causal language model", "give the folder of one that transformers opens")
    with map_load_errors(
        lambda reason: (
            f"the causal language model {name} cannot be opened ({reason}): give a folder or a name on the "
            "hub with a tokenizer and weights in safetensors"
        )
    ):
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        with hidden_loading_bars():
            opened = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=kind, use_safetensors=True)
        network = opened.to(device).eval()
    return _describe_model(name, network, tokenizer)


def _check_device(torch: Any, device: str) -> None:
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # AssertionError: torch built without CUDA
        raise InputError(
            f"the device {device!r} cannot be used ({first_line(error)}): wanted cpu, or another device of this "
            "machine, such as cuda"
        ) from error


def _describe_model(name: str, network: Any, tokenizer: Any) -> LoadedModel:
    import transformers

    generation_config: Any = transformers.GenerationConfig  # untyped
    configured = network.generation_config.eos_token_id
    ends = [*configured] if isinstance(configured, list) else [configured]
    ends = [token for token in (tokenizer.eos_token_id, *ends, network.config.eos_token_id) if isinstance(token, int)]
    if not ends:
        raise ProviderError(
            f"the causal language model {name} has no end token, so that its answers would never end: set eos_token in "
            "its tokenizer_config.json"
        )
    pad = ends[0] if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    # The model's own settings may sample or penalise repetition; answers are greedy.
    network.generation_config = generation_config(do_sample=False, eos_token_id=sorted({*ends}), pad_token_id=pad)
    text = network.config.get_text_config()
    return LoadedModel(
        network,
        tokenizer,
        network.get_input_embeddings().weight.shape[1],
        int(getattr(text, "max_position_embeddings", None) or 0),
        ends[0],
        frozenset(ends),
        frozenset(inspect.signature(network.forward).parameters),
    )
