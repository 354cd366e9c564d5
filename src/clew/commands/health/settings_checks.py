"""Settings, variables of the environment, and the server of language models that they name."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from clew.commands.health.findings import FAULT, OK, WARNING, Finding
from clew.errors import InputError
from clew.models.llm.providers import CUSTOM_KEY_VARIABLE, KEY_VARIABLES, OLLAMA_URL
from clew.settings import Settings, describe_unknown_variables, load_settings

_SECONDS = 3.0  # for a server to take a connection
_OTHERS: tuple[str, ...] = (
    "HF_HUB_OFFLINE",
    "HF_HOME",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_CACHE_DIR",
    "NUMBA_NUM_THREADS",
)
_OTHERS += ("HTTPS_PROXY", "AWS_ENDPOINT_URL", "AWS_REGION", "PYTHONUTF8")
_KEYS = frozenset({CUSTOM_KEY_VARIABLE, *filter(None, KEY_VARIABLES.values())})


def check_settings() -> list[Finding]:
    """Return findings on settings; values of variables are not shown, since they may be secrets."""
    findings = [_describe_environment()]
    findings += [
        Finding("environment", WARNING, line, "unset it, or correct its name") for line in describe_unknown_variables()
    ]
    try:
        settings = load_settings()
    except InputError as error:
        return [*findings, Finding("settings", FAULT, str(error), "correct clew.toml or the environment")]
    chosen = sorted(settings.model_fields_set)
    file = Path("clew.toml")
    source = f"{file.absolute()} and the environment" if file.is_file() else "the environment; no clew.toml here"
    findings.append(Finding("settings", OK, f"{', '.join(chosen) or 'none'} from {source}"))
    return [*findings, _check_model(settings)]


def _describe_environment() -> Finding:
    names = sorted(name for name in os.environ if name.startswith("CLEW_") or name in _OTHERS or name in _KEYS)
    return Finding("environment", OK, ", ".join(names) or "no variable that Clew reads is set")


def _check_model(settings: Settings) -> Finding:
    """Connect to the server of the language model where the settings name one; a public provider is not asked."""
    model = settings.model
    address = settings.base_url or (OLLAMA_URL if model.startswith("ollama:") else "")
    if not address:
        key = KEY_VARIABLES.get(model.partition(":")[0], "")
        if key and not os.environ.get(key):
            return Finding("language model", FAULT, f"{model}, and {key} is not set", f"set {key}, or give --base-url")
        return Finding("language model", OK, model or "none is set; none is needed")
    parts = urlsplit(address)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), _SECONDS).close()
    except (OSError, ValueError) as error:
        seen = f"the server at {parts.hostname}:{parts.netloc.rpartition(':')[2]} does not answer ({error})"
        return Finding("language model", FAULT, seen, "start it, or correct base_url (CLEW_BASE_URL)")
    return Finding("language model", OK, f"a server answers at {parts.hostname}:{port}")
