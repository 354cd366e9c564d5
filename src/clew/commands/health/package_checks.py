"""The packages that Clew needs, its extras, and torch."""

import re
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, version

from clew.commands.health.findings import FAULT, OK, WARNING, Finding
from clew.models.threads import choose_device
from clew.text.counts import format_count

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_OTHER_PLATFORM = re.compile(r"sys_platform|platform_system|python_version")
_UNLISTED = frozenset({"dev", "docs"})  # extras of those who work on Clew


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
    return [*findings, _describe_extras(extras), *_check_torch()]


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
