"""Prompt tuning of a causal model with `peft`: initialisation and loading of the soft prompt.

Source: Lester et al., "The Power of Scale for Parameter-Efficient Prompt Tuning" (2021), where virtual tokens start as
random tokens of the vocabulary. Differs from the source: sampled from the whole vocabulary.
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import ProviderError
from clew.plugins.extras import import_package
from clew_lab.models.causal_lm import LoadedModel

if TYPE_CHECKING:
    from torch import Tensor


def init_prompt_tuning(model: LoadedModel, tokens: int, seed: int) -> Any:
    """Wrap a shared, frozen model in a `peft` model whose virtual tokens start as random tokens; needs `peft`."""
    import torch

    vocabulary = model.network.get_input_embeddings().weight.detach()
    sample = torch.randint(len(vocabulary), (tokens,), generator=torch.Generator().manual_seed(seed))
    return _wrap_model(model, vocabulary[sample.to(vocabulary.device)])


def load_prompt_tuning(model: LoadedModel, folder: str | Path) -> Any:
    """Wrap a model in a `peft` model with the virtual tokens of a folder that `save_pretrained` wrote.

    No `peft` is a MissingPackageError; no virtual tokens in safetensors, or those of another width, a ProviderError.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    peft = _import_peft()
    try:
        config = peft.PeftConfig.from_pretrained(str(folder)) if Path(folder).is_dir() else None  # else asks the hub
        weights = load_file(Path(folder, "adapter_model.safetensors"))
        values = weights.get("prompt_embeddings")
        if not isinstance(config, peft.PromptTuningConfig) or values is None:
            raise ValueError(f"it holds {type(config).__name__}, wanted PromptTuningConfig")
        if values.ndim != 2 or values.shape[1] != model.width:
            raise ValueError(f"its tokens have the shape {tuple(values.shape)}, wanted the width {model.width}")
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = " ".join(str(error).split()) or repr(error)
        raise ProviderError(
            f"the soft prompt {folder} cannot be opened ({reason}): give a folder that one was saved to for this model"
        ) from error
    return _wrap_model(model, values)


def _wrap_model(model: LoadedModel, values: "Tensor") -> Any:
    import torch

    peft = _import_peft()
    config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=len(values))
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():  # the values drawn are replaced below
        warnings.simplefilter("ignore", FutureWarning)  # peft uses deprecated parts of transformers
        tuned = peft.get_peft_model(model.network, config)
    with torch.no_grad():
        soft_prompt_weight(tuned).copy_(values)
    return tuned


def soft_prompt_weight(tuned: Any) -> Any:
    """Return the trainable virtual tokens of a `peft` model, (tokens, width)."""
    return tuned.prompt_encoder[tuned.active_adapter].embedding.weight


def _import_peft() -> Any:
    return import_package("peft", "clew-lab", "a soft prompt")
