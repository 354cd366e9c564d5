"""A BERT encoder of a few kilobytes with random weights, written as a folder in the hub's layout."""

import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

WIDTH, HEADS, LAYERS, FEED_FORWARD_WIDTH, MAX_POSITIONS = 32, 4, 2, 64, 512
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!'-"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]


def write_tiny_bert(folder: Path) -> str:
    """Write the model and return the SHA-256 of its weights."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": FEED_FORWARD_WIDTH,
        "max_position_embeddings": MAX_POSITIONS,
        "layer_norm_eps": 1e-12,
        "vocab_size": len(VOCABULARY),
        "type_vocab_size": 2,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    _tokenizer().save(str(folder / "tokenizer.json"))
    marks = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    settings = {**marks, "mask_token": "[MASK]", "tokenizer_class": "BertTokenizer", "model_max_length": MAX_POSITIONS}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    save_file(_weights(), folder / "model.safetensors", metadata={"format": "pt"})
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def _tokenizer() -> Tokenizer:
    numbers = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    marks = [(mark, numbers[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return tokenizer


def _weights() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    random = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (MAX_POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm": (WIDTH,),
        "pooler.dense": (WIDTH, WIDTH),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        shapes |= {f"{layer}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        shapes |= {f"{layer}.attention.output.dense": (WIDTH, WIDTH), f"{layer}.attention.output.LayerNorm": (WIDTH,)}
        shapes |= {
            f"{layer}.intermediate.dense": (FEED_FORWARD_WIDTH, WIDTH),
            f"{layer}.output.dense": (WIDTH, FEED_FORWARD_WIDTH),
        }
        shapes |= {f"{layer}.output.LayerNorm": (WIDTH,)}
    weights = {}
    for name, shape in shapes.items():
        if name.endswith(".weight"):
            weights[name] = random.normal(0, 0.5, shape).astype(np.float32)
            continue
        gain = np.ones(shape) if name.endswith("LayerNorm") else np.zeros(shape)
        weights[f"{name}.weight"] = (gain + random.normal(0, 0.3, shape)).astype(np.float32)
        weights[f"{name}.bias"] = random.normal(0, 0.1, shape[:1]).astype(np.float32)
    return weights
