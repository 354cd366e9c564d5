"""The image, the unit and the dashboard: linted, and true to the server that they run."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from clew.commands.serve import PORT, parse_indexes
from clew.server.http.accounts import Metrics
from tests.faults.commands import run_clew

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
INSTRUCTIONS = {
    "FROM", "LABEL", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL",
    "ENTRYPOINT", "CMD",
}  # fmt: skip


def read_instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, lines that go on joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line.strip()]


def last_stage() -> dict[str, str]:
    """Return the last instruction of each kind in the image that is kept."""
    instructions = read_instructions()
    start = max(position for position, (name, _) in enumerate(instructions) if name == "FROM")
    return dict(instructions[start:])


def test_the_image_runs_without_rights_and_says_whether_it_is_well() -> None:
    names = {name for name, _ in read_instructions()}
    assert names == INSTRUCTIONS  # ADD, which fetches, and SHELL are not among them
    stage = last_stage()
    user = stage["USER"].split(":")
    assert all(part.isdecimal() and int(part) > 0 for part in user)
    assert f":{PORT}/health" in stage["HEALTHCHECK"]
    assert stage["EXPOSE"] == str(PORT)
    assert json.loads(stage["ENTRYPOINT"]) == ["clew"]
    json.loads(stage["CMD"])
    json.loads(stage["HEALTHCHECK"].partition(" CMD ")[2])


def test_what_is_written_lies_outside_the_root() -> None:
    stage = last_stage()
    volumes = json.loads(stage["VOLUME"])
    assert stage["WORKDIR"] in volumes
    places = dict(re.findall(r"(\w+)=(\S+)", stage["ENV"]))
    assert places["PYTHONDONTWRITEBYTECODE"] == "1"
    for name in ("CLEW_CACHE", "NUMBA_CACHE_DIR"):
        assert any(places[name].startswith(f"{volume}/") for volume in volumes)


def test_bases_are_named_by_version_and_no_secret_is_built_in() -> None:
    for name, rest in read_instructions():
        if name == "FROM":
            assert re.search(r":\d", rest), rest
        assert not re.search(r"(?i)password|token|secret|api_key", rest), rest


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert "*" in ignored
    sources = {
        source
        for name, rest in read_instructions()
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert sources == allowed
    assert all((ROOT / source).exists() for source in sources)


def test_the_extras_that_are_installed_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"]["hooks"][
        "custom"
    ]["optional-dependencies"]
    (names,) = {match for _, rest in read_instructions() for match in re.findall(r"'\.\[([\w,-]+)\]'", rest)}
    assert set(names.split(",")) <= set(extras)


def test_hadolint_finds_nothing() -> None:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if (program := shutil.which("hadolint", path=places)) is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([program, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def read_command() -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", (DEPLOY / "clew.service").read_text(encoding="utf-8"), re.MULTILINE)
    return str(line).split()


def test_the_unit_starts_a_command_that_exists() -> None:
    program, command, index, *options = read_command()
    assert (Path(program).name, command) == ("clew", "serve")
    assert parse_indexes([index]) == {"main": "/var/lib/clew/main"}
    shown = run_clew(command, "--help").out
    assert all(option in shown for option in options if option.startswith("--"))


def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    if (program := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd-analyze is not installed")
    text = (DEPLOY / "clew.service").read_text(encoding="utf-8").replace(read_command()[0], str(shutil.which("true")))
    unit = tmp_path / "clew.service"
    unit.write_text(text, encoding="utf-8")
    done = subprocess.run([program, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def queries(value: Any) -> list[str]:
    """Return all queries of a dashboard."""
    if isinstance(value, list):
        return [query for part in value for query in queries(part)]
    if not isinstance(value, dict):
        return []
    own = [str(value[name]) for name in ("expr", "query") if "clew" in str(value.get(name, ""))]
    return own + [query for part in value.values() for query in queries(part)]


def test_the_dashboard_asks_for_figures_and_labels_that_exist() -> None:
    metrics = Metrics()
    metrics.count("POST", "/v1/{index}/search", 200, 0.1)
    text = metrics.text(1, {"small": 3})
    figures = set(re.findall(r"^(clew_\w+)", text, re.MULTILINE))
    labels = set(re.findall(r'[{,](\w+)="', text)) | {"job", "instance"}  # which Prometheus adds
    dashboard = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    found = queries(dashboard)
    assert len(found) >= 9
    used = {name for query in found for name in re.findall(r"\bclew_\w+", query)}
    assert used <= figures
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in used} == set(
        re.findall(r"^# TYPE (clew_\w+)", text, re.MULTILINE)
    )
    for query in found:
        selected = re.findall(r"(\w+)=~?\"", query) + re.findall(r"by \((\w+)\)", query)
        assert set(selected) <= labels, query
    legends = {
        name
        for panel in dashboard["panels"]
        for t in panel["targets"]
        for name in re.findall(r"{{(\w+)}}", t["legendFormat"])
    }
    assert legends <= labels


def test_panels_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))["panels"]
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels)
