"""Loading, saving and fingerprints of a causal language model, and its errors."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

from clew.errors import InputError, MissingPackageError, ProviderError
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.graph_answer import build_prompt
from tests.answering.graph_readers.graph_contexts import CONTEXTS
from tests.devices import DEVICES
from tests.models.tiny_llama import MAX_POSITIONS, write_tiny_llama


def rewrite(file: Path, **changes: object) -> None:
    settings = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(settings | changes), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_llama(tmp_path / "model", padded=False)


def test_it_is_loaded_once_and_frozen(folder: Path) -> None:
    model = CausalModel(str(folder))
    loaded = model.load()
    assert model.load() is loaded
    assert (model.name, model.width, loaded.max_positions) == (str(folder), 32, MAX_POSITIONS)
    assert not loaded.network.training
    assert not any(weight.requires_grad for weight in loaded.network.parameters())
    assert model.parameters() == []


def test_loading_draws_no_bars_and_leaves_them_as_they_were(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bars = import_module("transformers.utils.logging")
    enabled = bars.is_progress_bar_enabled()
    bars.enable_progress_bar()
    try:
        CausalModel(str(folder)).load()
        assert "Loading weights" not in capfd.readouterr().err
        assert bars.is_progress_bar_enabled()
    finally:
        if not enabled:
            bars.disable_progress_bar()


def test_trained_weights_can_be_saved_and_loaded(folder: Path, tmp_path: Path) -> None:
    model = CausalModel(str(folder), trainable=True)
    weights = model.parameters()
    assert weights
    assert all(weight.requires_grad for weight in weights)
    with torch.no_grad():
        weights[0].add_(1.0)
    model.save(tmp_path / "trained")
    again = CausalModel(str(tmp_path / "trained")).load()
    assert torch.equal(next(again.network.parameters()), weights[0])
    assert again.tokenize("ship") == model.load().tokenize("ship")


def test_the_type_of_the_weights_can_be_chosen(folder: Path) -> None:
    assert next(CausalModel(str(folder), dtype="bfloat16").load().network.parameters()).dtype == torch.bfloat16
    with pytest.raises(InputError, match="'int8'; wanted float32"):
        CausalModel(str(folder), dtype="int8").load()


@pytest.mark.parametrize("device", DEVICES)
def test_bfloat16_costs_little_on_any_device(folder: Path, device: str) -> None:
    question, answer = ["who built the ship"], ["ship"]
    exact, rounded = (
        CausalReader(CausalModel(str(folder), device=place, dtype=dtype), build_prompt, with_text=False)
        for place, dtype in (("cpu", "float32"), (device, "bfloat16"))
    )
    network = rounded.model.load().network
    assert {weight.dtype for weight in network.parameters()} == {torch.bfloat16}
    assert network.device.type == device
    losses = rounded.loss(question, CONTEXTS[:1], answer)
    np.testing.assert_allclose(losses, exact.loss(question, CONTEXTS[:1], answer), rtol=0.03)
    assert rounded.generate(question, CONTEXTS[:1]) == rounded.generate(question, CONTEXTS[:1])


def test_all_end_tokens_stop_it_and_its_other_generation_settings_are_dropped(folder: Path) -> None:
    (folder / "generation_config.json").write_text(
        json.dumps({"eos_token_id": [7, 9], "do_sample": True, "temperature": 0.2, "repetition_penalty": 1.3})
    )
    loaded = CausalModel(str(folder)).load()
    assert loaded.end_token == loaded.tokenizer.eos_token_id == 0
    assert loaded.stop_tokens == {0, 7, 9}
    assert loaded.network.generation_config.repetition_penalty in (None, 1.0)
    assert loaded.network.generation_config.do_sample is False
    ship = loaded.tokenize(" ship ")
    assert loaded.decode([*ship, 9, *ship]) == "ship"


@pytest.mark.parametrize("name", ["/no/such/folder", "./nosuch"])
def test_a_missing_folder_is_bad_input(name: str) -> None:
    with pytest.raises(InputError, match=f"no causal language model can be called '{name}'"):
        CausalModel(name).load()


@pytest.mark.parametrize("broken", ["weights", "weights torn", "config", "tokenizer"])
def test_the_reason_why_a_model_cannot_be_opened_is_one_line(folder: Path, broken: str) -> None:
    if broken == "weights":
        (folder / "model.safetensors").unlink()
    elif broken == "weights torn":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:500])
    elif broken == "config":
        rewrite(folder / "config.json", model_type="no such thing")
    else:
        (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ProviderError, match="cannot be opened") as caught:
        CausalModel(str(folder)).load()
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_in_pickles_are_not_read(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ProviderError, match="safetensors"):
        CausalModel(str(folder)).load()


def test_a_model_without_an_end_token_is_refused(folder: Path) -> None:
    rewrite(folder / "tokenizer_config.json", eos_token=None)
    rewrite(folder / "config.json", eos_token_id=None)
    (folder / "generation_config.json").unlink()
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    with pytest.raises(ProviderError, match="has no end token"):
        CausalModel(str(folder)).load()


@pytest.mark.parametrize("package", ["transformers", "torch"])
def test_a_missing_package_is_named_with_the_extra(folder: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"needs the package {package}, .* pip install clew-lab"):
        CausalModel(str(folder)).load()


def test_saving_to_the_path_of_a_file_is_an_error(folder: Path) -> None:
    before = (folder / "config.json").read_bytes()
    with pytest.raises(ProviderError, match=r"cannot write the model to .*config\.json: .*; choose another folder"):
        CausalModel(str(folder)).save(folder / "config.json")
    assert (folder / "config.json").read_bytes() == before


@pytest.mark.parametrize("device", ["nonsense", "", "xla", "cuda:99"])
def test_a_missing_device_is_named(folder: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"the device '{device}' cannot be used .*: wanted cpu") as caught:
        CausalModel(str(folder), device=device).load()
    assert "\n" not in str(caught.value)


def test_the_fingerprint_depends_on_weights_tokenizer_and_configuration(folder: Path, tmp_path: Path) -> None:
    original = CausalModel(str(folder)).load().fingerprint
    copied = CausalModel(str(write_tiny_llama(tmp_path / "same", padded=False))).load().fingerprint
    others = [
        CausalModel(str(write_tiny_llama(tmp_path / "gain", padded=False, gain=2.0))).load().fingerprint,
        CausalModel(str(write_tiny_llama(tmp_path / "words", ("Fram", "Larvik"), padded=False))).load().fingerprint,
        CausalModel(str(write_tiny_llama(tmp_path / "chat", padded=False, chat=True))).load().fingerprint,
    ]
    assert original == copied
    rewrite(folder / "config.json", rms_norm_eps=0.5)
    others.append(CausalModel(str(folder)).load().fingerprint)
    assert len({original, *others}) == 5
