"""Imports of packages that only an optional extra installs."""

import importlib
from types import ModuleType

from clew.errors import ProviderError


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module of an optional extra.

    Args:
        module: Name of the module.
        extra: The extra of Clew that installs it.
        purpose: What needs it, for the message.

    Raises:
        ProviderError: It cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ProviderError(
            f"{purpose} needs {package}, which cannot be imported ({error}); run pip install 'clew[{extra}]'"
        ) from error
