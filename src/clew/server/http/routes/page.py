"""The page: four views of files that lie beside the server, and hold no data of an index."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from clew.server.refusals import Refusal

FOLDER = Path(__file__).parents[2] / "page"
VIEWS = {"/": "index.html", "/explore": "explore.html", "/documents": "documents.html", "/admin": "admin.html"}
"""The file of each view; all others are under `/page/`."""
router = APIRouter(include_in_schema=False)


def _add_view(path: str, name: str) -> None:
    async def view() -> FileResponse:
        file = FOLDER / name
        if not file.is_file():
            raise Refusal(404, "this installation has no page; the interface is described at /openapi.json")
        return FileResponse(file, media_type="text/html")

    router.get(path)(view)


for _path, _name in VIEWS.items():
    _add_view(_path, _name)


@router.get("/favicon.ico")
async def icon() -> RedirectResponse:
    """Send browsers to the icon of the page."""
    return RedirectResponse("/page/icon.svg")


def page_files() -> StaticFiles:
    """Return the files of the page."""
    return StaticFiles(directory=FOLDER, check_dir=False)
