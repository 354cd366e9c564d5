"""A language model of about ten thousand parameters."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

MAX_POSITIONS = 2048
_MARKS = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tiny_tokenizer(texts: Sequence[str]) -> Any:
    """Return a byte-level tokenizer trained on some texts, with turn markers."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[*_MARKS], initial_alphabet=letters, show_progress=False
    )
    tokenizer.train_from_iterator([*texts, *texts], trainer)
    fast: Any = PreTrainedTokenizerFast  # has no types
    return fast(tokenizer_object=tokenizer, eos_token=_MARKS[0], pad_token=_MARKS[0], chat_template=_TEMPLATE)


def tiny_llama(tokenizer: Any) -> Any:
    """Return an untrained model."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=MAX_POSITIONS,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model: Any = LlamaForCausalLM(config)
    return model.eval()


def write_tiny_llama(
    folder: Path,
    texts: Sequence[str] = (),
    *,
    side: Literal["left", "right"] = "right",
    padded: bool = True,
    chat: bool = False,
    gain: float = 1.0,
) -> Path:
    """Write an untrained model and its tokenizer in the hub's layout; return the folder.

    Args:
        folder: Made where it is missing.
        texts: Words that the tokenizer knows; it spells all others in bytes.
        side: Where the tokenizer pads.
        padded: Whether the tokenizer has a token to pad with.
        chat: Whether it has a chat template.
        gain: Factor on the weights; at 1 an untrained model hardly depends on earlier tokens, at 16 strongly.
    """
    tokenizer = tiny_tokenizer(texts)
    model = tiny_llama(tokenizer)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(gain if weight.ndim == 2 else 1.0)
    model.save_pretrained(folder)
    if not padded:
        tokenizer.pad_token = None
    if not chat:
        tokenizer.chat_template = None
    tokenizer.save_pretrained(folder)
    settings = folder / "tokenizer_config.json"  # save_pretrained does not write the side
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "padding_side": side}))
    return folder
