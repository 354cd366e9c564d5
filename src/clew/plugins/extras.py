"""Imports of packages that only an optional extra installs; a missing one is one line with what installs it."""

import importlib
from importlib.util import find_spec
from types import ModuleType

from clew.errors import MissingPackageError

EXTRAS = {
    "torch": "train",
    "torch_geometric": "train",
    "triton": "train",
    "scipy": "train",
    "ir_measures": "eval",
    "sentence_transformers": "encoders",
    "watchfiles": "watch",
    "fastapi": "server",
    "mcp": "server",
    "opentelemetry": "otel",
    "python_multipart": "server",
    "starlette": "server",
    "uvicorn": "server",
}
"""The extra that installs a package, for packages that whole commands need."""


def describe_missing(error: ImportError) -> str:
    """Return what to install where a command cannot import a package of an extra; "" for any other package."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package, "")
    return extra and missing_package("this command", error, package, f"'clew[{extra}]'")


def missing_package(purpose: str, error: ImportError, module: str, install: str, otherwise: str = "") -> str:
    """Return one line for a module that a purpose needs and that cannot be imported.

    It names the package that is missing, which may be one that the module imports. `install` is what pip installs;
    `otherwise` is what to do instead, if there is anything.
    """
    package = (error.name or module).partition(".")[0]
    end = f", or {otherwise}" if otherwise else ""
    return f"{purpose} needs the package {package}, which cannot be imported ({error}): run pip install {install}{end}"


def import_extra(module: str, extra: str, purpose: str, otherwise: str = "") -> ModuleType:
    """Import a module of an optional extra; a MissingPackageError names its `purpose` where it cannot be imported.

    `otherwise` is what to do instead of installing the extra, for the end of the message.
    """
    return import_package(module, f"'clew[{extra}]'", purpose, otherwise)


def import_package(module: str, install: str, purpose: str, otherwise: str = "") -> ModuleType:
    """Import a module that pip installs by the words `install`; the error is that of `import_extra`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(missing_package(purpose, error, module, install, otherwise)) from error


def require_extra(modules: tuple[str, ...], extra: str, purpose: str, otherwise: str = "") -> None:
    """Raise the error of `import_extra` for the first of some modules that is not installed; imports none."""
    for module in modules:
        if find_spec(module) is None:
            error = ModuleNotFoundError(f"No module named {module!r}", name=module)
            raise MissingPackageError(missing_package(purpose, error, module, f"'clew[{extra}]'", otherwise))
