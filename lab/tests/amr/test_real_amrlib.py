"""The real classes of amrlib, where it is installed, with a tiny T5 that has learned most of a graph."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from clew.types import Failure, Passage
from clew_lab.amr.parsers import AmrlibParser, pair_text
from clew_lab.amr.penman_notation import parse_penman

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("amrlib") is None, reason="amrlib is not installed"),
]

QUESTION = "who built it? "
PASSAGE = Passage("a", "a", "", "he built ships .", 0, 16)
# What its serializer writes: brackets, concepts and relations with spaces between, without variables.
WRITTEN = "( question :ARG1 ( build-01 :ARG0 ( he ) :ARG1 ( ship ) ) )"


def write_tiny_t5(folder: Path, text: str, written: str) -> Path:
    """Write a model of amrlib's class `parse_xfm` that answers one text."""
    import torch
    import transformers
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from tokenizers.processors import TemplateProcessing

    words = [*dict.fromkeys(["<pad>", "</s>", "<unk>", *text.split(), *written.split()])]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split(Regex(r"\s+"), "removed")
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    make_tokenizer: Any = transformers.PreTrainedTokenizerFast
    fast = make_tokenizer(tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    make_config: Any = transformers.T5Config
    config = make_config(
        vocab_size=len(words), d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, dropout_rate=0.0,
        decoder_start_token_id=0, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    example = {
        "input_ids": torch.tensor([fast(text)["input_ids"]]),
        "labels": torch.tensor([fast(written)["input_ids"]]),
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        model(**example).loss.backward()
        optimizer.step()
    parsing = {"model_name_or_path": str(folder), "max_in_len": 64, "max_out_len": 64}
    model.config.task_specific_params = {"parse_amr": parsing}
    model.save_pretrained(folder)
    about = {"model_type": "stog", "version": "0", "inference_module": ".parse_xfm.inference",
             "inference_class": "Inference", "model_fn": "model.safetensors"}  # fmt: skip
    (folder / "amrlib_meta.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


def test_the_parser_reads_what_amrlib_returns(tmp_path: Path) -> None:
    import amrlib

    text = pair_text(QUESTION, PASSAGE)
    folder = write_tiny_t5(tmp_path / "model", text, WRITTEN)
    parser = AmrlibParser(folder, "cpu")
    (graph,) = parser.parse([QUESTION], [PASSAGE])
    (notation,) = amrlib.load_stog_model(str(folder), device="cpu").parse_sents([text], add_metadata=False)
    assert graph == parse_penman(notation)
    assert not isinstance(graph, Failure)
    assert "question" in graph.concepts
    assert len(graph.concepts) >= 3  # of the four that it has learned
    assert parser.fingerprint.startswith("amrlib-")
