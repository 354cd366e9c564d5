"""A BART of a few kilobytes that has learned by heart to write a linear form for a text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing

MARKS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<AMR>", "</AMR>"]


def write_tiny_bart(folder: Path, forms: Mapping[str, str], steps: int = 120) -> Path:
    """Write a model that answers each text with its form, and a tokenizer of words."""
    import torch
    import transformers

    words = sorted({word for pair in forms.items() for text in pair for word in text.split()})
    vocabulary = {word: number for number, word in enumerate([*MARKS, *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split(Regex(r"\s+"), "removed")
    tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    make_tokenizer: Any = transformers.PreTrainedTokenizerFast
    fast = make_tokenizer(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        mask_token="<mask>",
    )  # fmt: skip
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=len(vocabulary), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=128, dropout=0.0,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    model: Any = transformers.BartForConditionalGeneration(config)
    suffix = [vocabulary[mark] for mark in ("<AMR>", "<mask>", "</AMR>")]
    examples = []
    for text, form in forms.items():
        written = [vocabulary[word] for word in form.split()]
        read = torch.tensor([fast(text)["input_ids"] + suffix])
        examples.append(
            {
                "input_ids": read,
                "decoder_input_ids": torch.tensor([[suffix[0], *written]]),
                "labels": torch.tensor([[*written, suffix[2]]]),
            }
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(steps):
        for example in examples:
            optimizer.zero_grad()
            model(**example).loss.backward()
            optimizer.step()
    model.save_pretrained(folder)
    return folder
