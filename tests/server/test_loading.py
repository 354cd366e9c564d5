"""Searching loads nothing of the server, and starting a server nothing of MCP."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        (
            "from clew.commands.app import main\nsys.argv[1:] = ['search', 'Vega', '--index', place]",
            "fastapi starlette uvicorn mcp torch pandas",
        ),
        ("import clew.server.http.app\nmain = sys.exit", "mcp torch pandas"),
    ],
    ids=["search", "serve"],
)
def test_what_is_not_loaded(program: str, absent: str, plain_folder: Path) -> None:
    text = f"""
import sys
place = {str(plain_folder)!r}
{program}
try:
    main()
except SystemExit:
    pass
print([name for name in {absent.split()} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
