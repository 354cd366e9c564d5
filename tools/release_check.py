"""Checks of a release, one line each: `python tools/release_check.py [--python PYTHON ...] [--skip-install]`.

1. The version is one in pyproject.toml, CHANGELOG.md, CITATION.cff and in the installed package; the changelog has a
   date for it, and nothing above it.
2. Wheel and source archive are built; the wheel holds all that is read at run time and nothing else, and neither is
   larger than it should be.
3. README.md links to files of the repository; the wheel's description, which is what PyPI shows, is Markdown and has no
   relative link. Where pyproject.toml has [project.urls], all of ADDRESSES are there, and the description's links lead
   there; where it has none, the description has the paths as text.
4. For each PYTHON (this one, if none is given) a new environment gets the wheel and the pinned versions of
   constraints.txt, and nothing of the clone; there `clew` indexes three documents, searches, answers and checks itself.

Exits with 1 where a check fails. Needs a package index, and `build` from it; 4 takes minutes.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAX_WHEEL_MB, MAX_SDIST_MB = 40, 80  # PyPI takes files of 100 MB
NEEDED = ("py.typed", "weights/encoder/model.onnx", "weights/gfm/config.json", "server/page/index.html")
"""Files of the package that are read at run time, one of each kind."""
DOCUMENTS = {
    "dulwich.txt": "Dulwich College\n\nDulwich College is a school in London. It was founded in 1619 by Edward Alleyn.",
    "caird.md": "# James Caird (boat)\n\nThe boat James Caird is kept at Dulwich College.\n",
    "vega.txt": "Vega\n\nThe Vega was commanded by Louis Palander, who was born in Karlskrona.",
}
SOURCE_FILES = (
    "pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "CONTRIBUTING.md",
    "Makefile", "Dockerfile", ".dockerignore", ".ci/run", "deploy/clew.service", "mkdocs.yml", "constraints.txt",
    "tests/conftest.py", "docs/index.md", "examples/questions.jsonl", "bench/message_kernels.py",
    "lab/pyproject.toml", "hatch_build.py",
    "tools/release_check.py",
)  # fmt: skip
"""Files that a build, the tests or the README's links need, one of each folder."""
ADDRESSES = ("Homepage", "Documentation", "Source", "Issues", "Changelog")
"""Names that [project.urls] has, once there is a public address."""
QUESTION = "Who founded the school where the boat James Caird is kept?"
WANTED = "Edward Alleyn"


class CheckError(Exception):
    """A check that failed, in one line."""


def main() -> None:
    """Run the checks, print a line for each, and exit with 1 where one failed."""
    parser = argparse.ArgumentParser(description="Check a release.")
    parser.add_argument("--python", nargs="*", default=[sys.executable], help="interpreters to try the wheel with")
    parser.add_argument("--skip-install", action="store_true", help="leave out the environments with the wheel")
    parser.add_argument("--out", type=Path, help="folder for wheel and source archive; else they are dropped")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = (options.out or Path(folder) / "dist").absolute()
        checks: list[tuple[str, Callable[[], str]]] = [
            ("version", check_versions),
            ("README", check_readme),
            ("addresses", check_addresses),
            ("build", lambda: build(out, Path(folder))),
            ("wheel", lambda: check_wheel(find_wheel(out))),
            ("source archive", lambda: check_source_archive(out)),
        ]
        if not options.skip_install:
            for number, python in enumerate(options.python):
                place = Path(folder) / f"environment-{number}"
                checks.append((f"installed, {Path(python).name}", lambda p=python, e=place: try_wheel(p, out, e)))  # type: ignore[misc]
        failed = sum(not run_check(name, check) for name, check in checks)
    sys.exit(1 if failed else 0)


def run_check(name: str, check: Callable[[], str]) -> bool:
    """Print the outcome of a check; return whether it passed."""
    try:
        print(f"ok    {name}: {check()}", flush=True)
    except (CheckError, OSError, subprocess.CalledProcessError) as error:
        print(f"FAIL  {name}: {error}", flush=True)
        return False
    return True


def check_versions() -> str:
    """Check that the version is the same everywhere, and that the changelog has a date for it."""
    version = project_version()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[([^\]]+)\](?: - (.+))?$", changelog, re.MULTILINE)
    newest, stated = sections[0] if sections else ("none", "")
    require(newest == version, f"the newest section of CHANGELOG.md is [{newest}], not [{version}]")
    require(_is_date(stated), f"[{version}] in CHANGELOG.md has the date {stated!r}; wanted one such as 2026-11-23")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for line in (f"version: {version}", f"date-released: {stated}"):
        require(re.search(rf"^{re.escape(line)}$", citation, re.MULTILINE) is not None, f"CITATION.cff has no {line!r}")
    return f"{version} of {stated}"


def check_readme() -> str:
    """Check that the README's links lead to files of the repository, and that its fences are closed."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    require(text.count("```") % 2 == 0, "README.md has a fence that is not closed")
    targets = relative_links(text)
    missing = [target for target in targets if not (ROOT / target).exists()]
    require(not missing, f"README.md links to {', '.join(missing)}, which is not there")
    return f"{len(text.splitlines())} lines, {len(targets)} links"


def check_addresses() -> str:
    """Check that the addresses of the project are all there, if it has any."""
    addresses = project().get("urls", {})
    lacking = [name for name in ADDRESSES if addresses and name not in addresses]
    require(not lacking, f"[project.urls] of pyproject.toml lacks {', '.join(lacking)}")
    return f"{len(addresses)} in [project.urls]" if addresses else "none in [project.urls]; the description has paths"


def build(out: Path, folder: Path) -> str:
    """Build wheel and source archive from the tree, in an environment of its own."""
    python = new_environment(sys.executable, folder / "builder")
    run([python, "-m", "pip", "install", "--quiet", "build"])
    run([python, "-m", "build", "--outdir", out, ROOT], variables={"CLEW_RELEASE": "1"})
    files = [f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in sorted(out.iterdir())]
    return ", ".join(files)


def check_wheel(wheel: Path) -> str:
    """Check what a wheel holds, how large it is, and its description."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    lacking = [name for name in NEEDED if f"clew/{name}" not in names]
    require(not lacking, f"the wheel lacks {', '.join(lacking)}")
    foreign = [name for name in names if not re.match(r"clew(/|-[\d.]+\.dist-info/)", name)]
    require(not foreign, f"the wheel holds {', '.join(foreign[:3])}")
    rubbish = [name for name in names if name.endswith((".pyc", ".nbi", ".nbc", ".orig")) or "__pycache__" in name]
    require(not rubbish, f"the wheel holds {', '.join(rubbish[:3])}")
    tracked = set(run(["git", "-C", ROOT, "ls-files", "src/clew"]).split("\n"))
    unknown = [name for name in names if name.startswith("clew/") and f"src/{name}" not in tracked]
    require(not unknown, f"the wheel holds {', '.join(unknown[:3])}, which git does not know")
    check_description(metadata)
    require("@ file:" not in metadata, "the metadata of the wheel name a place of this machine")
    require(f"Version: {project_version()}\n" in metadata, "the wheel is of another version")
    return f"{len(names)} files, {check_size(wheel, MAX_WHEEL_MB):.1f} MB"


def check_description(metadata: str) -> None:
    """Check the description in a wheel's metadata: what an index of packages shows has no link that leads nowhere."""
    head, _, description = metadata.partition("\n\n")
    require("Description-Content-Type: text/markdown" in head.split("\n"), "the description is not Markdown")
    require(description.startswith("# Clew\n"), "the description is not that of README.md")
    links = relative_links(description)
    require(not links, f"the description links to {', '.join(links[:3])}, which leads nowhere outside the repository")


def relative_links(text: str) -> list[str]:
    """Return where the links of a Markdown text lead that are no addresses, without anchors; code is left out."""
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [target for target in targets if "://" not in target]


def check_source_archive(out: Path) -> str:
    """Check that the source archive holds what the tests and a build need."""
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    lacking = [name for name in SOURCE_FILES if name not in names]
    require(not lacking, f"the source archive lacks {', '.join(lacking)}")
    return f"{len(names)} files, {check_size(archive, MAX_SDIST_MB):.1f} MB"


def try_wheel(python: str, out: Path, folder: Path) -> str:
    """Install the wheel into a new environment outside the clone, and index, search, ask and check there."""
    inner = new_environment(python, folder)
    run([inner, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", find_wheel(out)], cwd=folder)
    run([inner, "-m", "pip", "check"], cwd=folder)
    documents = folder / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text, encoding="utf-8")
    clew = inner.with_name("clew.exe" if os.name == "nt" else "clew")
    require(clew.exists(), f"{folder} has no command clew")
    require(run([clew, "--version"], cwd=folder).strip() == f"clew {project_version()}", "clew --version differs")
    run([clew, "index", documents, "--index", "made"], cwd=folder)
    found = run([clew, "search", QUESTION, "--index", "made"], cwd=folder)
    require("dulwich.txt" in found, "clew search does not find dulwich.txt")
    require(WANTED in run([clew, "ask", QUESTION, "--index", "made"], cwd=folder), f"clew ask does not quote {WANTED}")
    run([clew, "verify", "--index", "made"], cwd=folder)
    run([clew, "doctor", "--index", "made"], cwd=folder)
    where = run([inner, "-c", "import clew; print(clew.__file__)"], cwd=folder).strip()
    require(str(folder) in where, f"clew was imported from {where}")
    packages = len(run([inner, "-m", "pip", "list", "--format", "freeze"], cwd=folder).split())
    return f"{run([inner, '--version']).strip()}, {packages} packages, {folder_mb(folder / 'lib'):,.0f} MB"


def new_environment(python: str | Path, folder: Path) -> Path:
    """Make an environment of a Python; return its interpreter."""
    if Path(python) == Path(sys.executable):
        venv.create(folder, with_pip=True)
    else:
        run([python, "-m", "venv", folder])
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def find_wheel(out: Path) -> Path:
    """Return the wheel of a folder."""
    wheels = sorted(out.glob("*.whl"))
    require(len(wheels) == 1, f"{out} holds {len(wheels)} wheels; wanted one")
    return wheels[0]


def project_version() -> str:
    """Return the version of pyproject.toml."""
    return str(project()["version"])


def project() -> dict[str, Any]:
    """Return the table [project] of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def check_size(path: Path, limit: float) -> float:
    """Return the size of a file in MB; a larger one than the limit is a failed check."""
    size = path.stat().st_size / 1e6
    require(size <= limit, f"{path.name} has {size:.1f} MB; at most {limit} are allowed")
    return size


def folder_mb(folder: Path) -> float:
    """Return the size of all files below a folder, in MB."""
    return sum(_sizes(folder)) / 1e6


def require(fits: bool, message: str) -> None:
    """Fail the check with a message unless a condition holds."""
    if not fits:
        raise CheckError(message)


def run(command: list[str | Path], cwd: Path | None = None, variables: dict[str, str] | None = None) -> str:
    """Run a command without the clone on its path; return its output, or fail with the end of what it said.

    `variables` are those of the environment that the command gets besides.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | (variables or {})
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    if done.returncode:
        said = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise CheckError(f"{' '.join(map(str, command[:4]))} exited with {done.returncode}: {said}")
    return done.stdout


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.stat().st_size


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    main()
