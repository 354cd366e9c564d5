"""A causal language model of `transformers` with its tokenizer, loaded on first use and shared by its readers."""

import inspect
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from clew.errors import InputError, ProviderError
from clew.models.hub import check_model

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """What is needed to run it.

    Attributes:
        network: Of `transformers`, in evaluation mode.
        tokenizer: Of `transformers`.
        width: Of the vectors of its tokens.
        max_positions: How many tokens it reads at most; 0 where it does not say.
        end_token: The token that ends an answer.
        stop_tokens: All tokens that stop it.
        forward_arguments: Names of what its forward pass takes.
    """

    network: Any
    tokenizer: Any
    width: int
    max_positions: int
    end_token: int
    stop_tokens: frozenset[int]
    forward_arguments: frozenset[str]

    @property
    def fingerprint(self) -> str:
        """Changes whenever what it says of a text would: its weights, and what its tokenizer makes of texts."""
        words, shape = self.tokenizer, self.network.config.to_dict()
        told = sorted((key, repr(value)) for key, value in shape.items() if not key.startswith(("_", "transformers_")))
        read = (
            sorted(words.get_vocab().items()),
            str(getattr(words, "chat_template", None)),
            sorted(self.stop_tokens),
            told,
        )
        around = blake2b(repr(read).encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return f"causal-{weights_digest(self.network.state_dict().items())}-{around}"

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return a text's token ids; with the tokenizer's own mark of a beginning where `special`."""
        found = self.tokenizer(text, add_special_tokens=special, return_attention_mask=False, verbose=False)
        ids: list[int] = list(found["input_ids"])
        # Some tokenizers close what they mark; an answer is yet to follow.
        return ids[:-1] if special and ids and ids[-1] in self.stop_tokens else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids up to the first that stops, without marks."""
        until = next((place for place, token in enumerate(ids) if token in self.stop_tokens), len(ids))
        return str(self.tokenizer.decode(list(ids[:until]), skip_special_tokens=True)).strip()


@final
class CausalModel:
    """Any model that `transformers` opens as a causal language model; weights are read from safetensors alone.

    Args:
        name: A folder, or a model's name on the hub, which is asked unless HF_HUB_OFFLINE is set.
        device: As torch names it.
        dtype: Of the weights, as torch names it.
        trainable: Leaves the weights open to training, to teach a small model from its start; else they are frozen.
    """

    def __init__(self, name: str, *, device: str = "cpu", dtype: str = "float32", trainable: bool = False) -> None:
        self._name = name
        self._device = device
        self._dtype = dtype
        self._trainable = trainable
        self._loaded: LoadedModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The folder or name it is opened by."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether its own weights may be trained."""
        return self._trainable

    @property
    def width(self) -> int:
        """Width of the vectors of its tokens; loads the model."""
        return self.load().width

    def parameters(self) -> "list[Parameter]":
        """Return the weights where they may be trained; loads the model if so."""
        return list(self.load().network.parameters()) if self._trainable else []

    def load(self) -> LoadedModel:
        """Return the model, opened once.

        Raises:
            InputError: `transformers` is not installed, or there is no such device or type.
            ProviderError: The model cannot be opened, or has no token that ends a text.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = _open_model(self._name, self._device, self._dtype)
                self._loaded.network.requires_grad_(self._trainable)
            return self._loaded

    def save(self, folder: str | Path) -> None:
        """Write weights and tokenizer, so that the folder can be opened by its name.

        Raises:
            ProviderError: The folder cannot be written.
        """
        loaded = self.load()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)  # transformers passes over the path of a file in silence
            loaded.network.save_pretrained(str(folder))
            loaded.tokenizer.save_pretrained(str(folder))
        except OSError as error:
            raise ProviderError(f"cannot write the model to {folder}: {error}; choose another folder") from error


def weights_digest(weights: "Iterable[tuple[str, Tensor]]") -> str:
    """Return what tells weights from others of the same or another shape, in about a second for a gigabyte."""
    import torch

    digest = blake2b(digest_size=8)
    for name, weight in weights:
        values = weight.detach().cpu().contiguous()
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _open_model(name: str, device: str, dtype: str) -> LoadedModel:
    try:
        import torch
        from safetensors import SafetensorError
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        message = f"the reader {name} needs the package transformers, which cannot be imported ({error})"
        raise InputError(f"{message}: pip install 'clew[local-llm]'") from error
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or not kind.is_floating_point:
        raise InputError(f"no weights are of the type {dtype!r}; wanted float32, bfloat16 or float16")
    models: Any = AutoModelForCausalLM  # neither has types
    tokenizers: Any = AutoTokenizer
    _check_device(torch, device)
    check_model(name, None, "causal language model", "give the folder of one that transformers opens")
    try:
        tokenizer = tokenizers.from_pretrained(name)
        network = models.from_pretrained(name, dtype=kind, use_safetensors=True).to(device).eval()
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise ProviderError(
            f"the causal language model {name} cannot be opened ({reason}): give a folder or a name on the hub that "
            "holds one with its tokenizer and its weights in safetensors"
        ) from error
    return _describe_model(name, network, tokenizer)


def _check_device(torch: Any, device: str) -> None:
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # asserts where torch is built without CUDA
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise InputError(
            f"the device {device!r} cannot be used ({reason}): wanted cpu, or another that torch has on this machine, "
            "such as cuda"
        ) from error


def _describe_model(name: str, network: Any, tokenizer: Any) -> LoadedModel:
    import transformers

    greedy: Any = transformers.GenerationConfig  # has no types
    named = network.generation_config.eos_token_id
    ends = [*named] if isinstance(named, list) else [named]
    ends = [token for token in (tokenizer.eos_token_id, *ends, network.config.eos_token_id) if isinstance(token, int)]
    if not ends:
        raise ProviderError(
            f"the causal language model {name} names no token that ends a text, so that its answers have no end: set "
            "eos_token in its tokenizer_config.json"
        )
    pad = ends[0] if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    # What the model came with may sample or punish repetition, which greedy answers must not.
    network.generation_config = greedy(do_sample=False, eos_token_id=sorted({*ends}), pad_token_id=pad)
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
