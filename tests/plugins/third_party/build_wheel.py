"""A build backend without dependencies: writes the one module of this package as a wheel."""

import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
MODULE = "clew_example_plugin.py"


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Write the wheel and return its name (PEP 517)."""
    del config_settings, metadata_directory
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in names.items())
        for group, names in project["entry-points"].items()
    )
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    files = {
        MODULE: (HERE / MODULE).read_text(encoding="utf-8"),
        f"{stem}.dist-info/METADATA": about,
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: example\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/entry_points.txt": points,
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{stem}.dist-info/RECORD"))
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, text in (*files.items(), (f"{stem}.dist-info/RECORD", record)):
            wheel.writestr(path, text)
    return name
