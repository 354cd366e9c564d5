"""Imports of packages that only an optional extra installs."""

import importlib
from types import ModuleType

from clew.errors import ProviderError

EXTRAS = {
    "torch": "train",
    "torch_geometric": "train",
    "triton": "train",
    "scipy": "train",
    "ir_measures": "eval",
    "sentence_transformers": "encoders",
    "transformers": "local-llm",
    "peft": "local-llm",
    "ray": "ray",
    "watchfiles": "watch",
}
"""The extra that installs a package, for packages that whole commands need."""


def describe_missing(error: ImportError) -> str:
    """Return what to install where a package of an extra cannot be imported; "" for any other package."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package, "")
    return extra and f"this needs {package}, which cannot be imported ({error}); run pip install 'clew[{extra}]'"


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module of an optional extra; a ProviderError names its `purpose` where it cannot be imported."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ProviderError(
            f"{purpose} needs {package}, which cannot be imported ({error}); run pip install 'clew[{extra}]'"
        ) from error
