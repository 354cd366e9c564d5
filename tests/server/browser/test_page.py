"""The page: asking, edges, comparing, exploring, documents; by keyboard, on a phone, in the dark, attacked."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clew.types import Document
from tests.server.serving import make_key, server_process
from tests.small_index import make_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

QUESTION = "Where was Louis Palander born?"
VIEWS = ("/", "/explore", "/documents", "/admin")


def violations(page: "Page") -> list[Any]:
    """Return what axe-core finds: each rule with the elements that break it."""
    found = axe.Axe().run(page).response["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


def ask(page: "Page", site: str, question: str = QUESTION, index: str = "small") -> None:
    """Ask by the keyboard, and wait for the whole answer."""
    page.goto(f"{site}/?index={index}")
    page.get_by_label("What do you want to know?").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_selector(".passage")
    page.wait_for_selector("#stop", state="hidden")


def test_an_answer_shows_its_quotes_marked_in_the_passages(page: "Page", site: str) -> None:
    ask(page, site)
    assert page.inner_text(".answer-text")
    quotes = [text.strip() for text in page.locator(".quotes li").all_inner_texts()]
    marks = page.locator(".passage mark").all_inner_texts()
    assert quotes
    assert any(mark in quote for quote in quotes for mark in marks)
    assert "version" in page.inner_text(".answer .source >> nth=0")


def test_an_edge_opens_the_sentence_that_states_it(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=small")
    page.get_by_label("Entity").fill("Louis Palander")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("#details ul button")
    relation = page.locator("#details ul >> nth=0").locator("button >> nth=0")
    relation.click()
    page.wait_for_selector("dialog mark")
    stated = page.inner_text("dialog mark")
    passage = page.inner_text("dialog .text")
    assert stated.strip() in passage
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_a_question_asked_before_the_indexes_are_listed_waits_for_them(page: "Page", site: str) -> None:
    held: list[Route] = []
    page.route("**/v1/indexes", lambda route: held.append(route))
    with page.expect_request("**/v1/indexes"):
        page.goto(f"{site}/?index=small")
    page.get_by_label("What do you want to know?").fill(QUESTION)
    page.keyboard.press("Enter")
    held[0].continue_()
    page.wait_for_selector(".passage")


def test_two_retrievers_stand_side_by_side(page: "Page", site: str) -> None:
    page.goto(f"{site}/?index=small")
    page.get_by_text("Options").click()
    page.get_by_label("Retriever").select_option("pagerank")
    page.get_by_label("Compare with").select_option("bm25")
    page.get_by_label("What do you want to know?").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector("#answers .answer:nth-child(2) .passage")
    page.wait_for_selector("#stop", state="hidden")
    names = [text.split(",")[0] for text in page.locator(".answer > .source").all_inner_texts()]
    assert names == ["pagerank", "bm25"]
    assert "retriever=pagerank" in page.url
    assert "second=bm25" in page.url


def test_steps_of_an_agent_stand_one_after_the_other(page: "Page", site: str) -> None:
    page.goto(f"{site}/?index=small&retriever=gear&q={QUESTION}")
    page.wait_for_selector(".steps > li")
    page.wait_for_selector("#stop", state="hidden")
    assert page.inner_text(".steps > li >> nth=0").startswith("Step 1:")


def test_wandering_expands_hides_and_lists_the_same_graph(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=small")
    page.get_by_label("Entity").fill("Vega")
    page.keyboard.press("Enter")
    page.wait_for_selector("#nested li li")
    first = page.locator("#nested > ul > li").count()
    assert first > 1
    page.locator("#nested > ul > li >> nth=1").locator("button >> nth=0").click()
    page.wait_for_selector("#details h2")
    page.get_by_role("button", name="Hide").click()
    page.wait_for_selector("#details h2", state="detached")
    assert page.locator("#nested > ul > li").count() >= 1
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#nested > ul > li").count() == 0


def test_a_late_reply_shows_nothing_again_that_was_hidden(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=small&entity=Vega")
    page.wait_for_selector("#details h2")
    page.wait_for_selector("#nested li li")
    held: list[Route] = []
    page.route("**/entities/*", lambda route: held.append(route))
    page.locator("#nested > ul > li >> nth=1").locator("button >> nth=0").click()
    page.get_by_role("button", name="Hide").click()
    page.wait_for_selector("#details h2", state="detached")
    before = page.locator("#nested > ul > li").count()
    with page.expect_response("**/entities/*"):
        held[0].continue_()
    page.wait_for_function(f"document.querySelectorAll('#nested > ul > li').length > {before}")
    assert page.locator("#details h2").count() == 0


def test_an_entity_is_renamed_and_that_is_undone(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=new&entity=Karlskrona")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("Karlskrona in Blekinge")
    page.get_by_role("button", name="Do it").click()
    page.wait_for_selector("#details h2:has-text('Karlskrona in Blekinge')")
    assert "rename 'Karlskrona'" in page.inner_text("#message")
    assert not violations(page)
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("With the entity").fill("Nobody")
    page.get_by_role("button", name="Do it").click()
    page.wait_for_selector("dialog .bad:has-text('no entity is called')")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Decisions").click()
    page.get_by_role("button", name="Undo decision 1").click()
    page.wait_for_selector("#message:has-text('undo decision 1')")
    page.goto(f"{site}/explore?index=new&entity=Karlskrona")
    page.wait_for_selector("#details h2:text-is('Karlskrona')")


def test_a_path_between_two_entities_has_its_sentences(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=small")
    page.get_by_label("From").fill("Louis Palander")
    page.get_by_label("to", exact=True).fill("Vega")
    page.get_by_role("button", name="Find a path").click()
    page.wait_for_selector("#details ol li, #message:not(:empty)")
    assert "path" in page.inner_text("#message").lower()


def test_what_is_wanted_before_the_indexes_are_listed_waits_for_them(page: "Page", site: str) -> None:
    held: list[Route] = []
    page.route("**/v1/indexes", lambda route: held.append(route))
    with page.expect_request("**/v1/indexes"):
        page.goto(f"{site}/explore?index=small")
    page.get_by_label("From").fill("Louis Palander")
    page.get_by_label("to", exact=True).fill("Vega")
    page.get_by_role("button", name="Find a path").click()
    held[0].continue_()
    page.wait_for_selector("#details ol li, #message:not(:empty)")
    assert "path" in page.inner_text("#message").lower()


def test_another_index_begins_without_the_entities_of_the_one_before(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=small&entity=louis palander&from=a")
    page.wait_for_selector("#details h2")
    page.get_by_label("From").fill("Louis Palander")
    page.locator("#index").select_option("new")
    page.wait_for_url("**index=new")
    assert "entity" not in page.url
    assert "from" not in page.url
    assert page.get_by_label("From").input_value() == ""
    page.wait_for_selector("#details h2", state="detached")
    assert not page.locator("#message.bad").count()


def test_a_cancelled_job_can_be_tried_again(page: "Page", site: str) -> None:
    job = {"id": "j", "status": "cancelled", "documents": 1, "done": 0, "reason": "cancelled", "failures": []}
    page.route("**/v1/new/jobs", lambda route: route.fulfill(json={"jobs": [job]}))
    page.goto(f"{site}/documents?index=new")
    with page.expect_request("**/v1/new/jobs/j/retry") as asked:
        page.get_by_role("button", name="Try again").click()
    assert asked.value.method == "POST"


def test_an_entity_that_is_not_there_is_said(page: "Page", site: str) -> None:
    page.goto(f"{site}/explore?index=small")
    page.get_by_label("Entity").fill("zzyzx")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message.bad")
    assert "No entity is called zzyzx" in page.inner_text("#message")


def test_a_file_is_uploaded_found_and_removed(page: "Page", site: str, tmp_path: Path) -> None:
    file = tmp_path / "maud.md"
    file.write_text("# Maud\n\nThe Maud was launched by Roald Amundsen at Vollen.\n", encoding="utf-8")
    page.goto(f"{site}/documents?index=new")
    page.locator("#files").set_input_files(str(file))
    page.get_by_role("button", name="Remove Maud").wait_for()
    page.locator("#jobs li").first.filter(has_text="done").wait_for()  # the list may show it before the job has ended
    ask(page, site, "Who launched the Maud?", "new")
    assert "Maud" in page.inner_text(".passage >> nth=0")
    page.goto(f"{site}/documents?index=new")
    page.get_by_role("button", name="Remove Maud").click()
    page.get_by_role("button", name="Remove it").click()
    page.get_by_role("button", name="Remove Maud").wait_for(state="detached")


def test_an_empty_index_says_what_to_do(page: "Page", site: str) -> None:
    page.goto(f"{site}/?index=empty")
    page.wait_for_selector("#message a")
    assert page.inner_text("#message") == "This index is empty. Add documents to begin."
    page.goto(f"{site}/documents?index=empty")
    page.wait_for_selector("#count:not(:empty)")
    assert "drop some files above" in page.inner_text("#count")


def test_what_cannot_be_used_is_a_sentence(page: "Page", site: str) -> None:
    page.goto(f"{site}/?index=small")
    page.get_by_text("Options").click()
    page.get_by_label("Only where").fill("year >")
    page.get_by_label("What do you want to know?").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer .bad")
    assert len(page.inner_text(".answer .bad").split()) > 3


def test_all_of_a_question_is_done_by_the_keyboard(page: "Page", site: str) -> None:
    page.goto(f"{site}/?index=small")
    page.wait_for_selector("#index option", state="attached")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        if reached[-1] == "question":
            break
    assert reached[-1] == "question"
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".passage")
    page.wait_for_selector("#stop", state="hidden")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('link')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_every_view_is_accessible_and_fits(browser: "Browser", site: str, scheme: Any, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    for view in VIEWS:
        extra = {"/": f"&q={QUESTION}", "/explore": "&entity=louis palander"}.get(view, "")
        page.goto(f"{site}{view}?index=small{extra}")
        page.wait_for_selector(
            {"/": ".passage", "/explore": "#details h2", "/admin": ".card"}.get(view, "#documents li")
        )
        page.wait_for_timeout(400)  # until what arrives has its full colour
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server of documents that try to run scripts."""
    folder = tmp_path_factory.mktemp("hostile")
    attack = (
        "<script>window.taken = 1</script> <img src=x onerror='window.taken = 2'> "
        "<svg onload='window.taken = 3'></svg> [press here](javascript:window.taken=4) "
        "![picture](javascript:window.taken=5) &lt;b&gt; <a href='javascript:1'>x</a>"
    )
    documents = [
        Document(
            id="<script>window.taken=6</script>", title="<b onclick=window.taken=7>Vega</b>", text=f"Vega. {attack}"
        ),
        Document(
            id='"><svg onload=window.taken=8>', title="Maud <img src=x onerror=window.taken=9>", text="Maud met Vega."
        ),
    ]
    make_index(folder / "index", documents)
    with server_process(f"hostile={folder / 'index'}") as (_, client):
        yield str(client.base_url)


def test_a_hostile_corpus_stays_text(page: "Page", hostile: str) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    ask(page, hostile, "What met Vega?", "hostile")
    assert "<script>" in page.inner_text("#answers")
    for title in page.locator(".passage h3").all_inner_texts():
        assert "<" in title
    page.goto(f"{hostile}/documents?index=hostile")
    page.wait_for_selector("#documents li")
    page.goto(f"{hostile}/explore?index=hostile")
    page.get_by_label("Entity").fill("Vega")
    page.keyboard.press("Enter")
    page.wait_for_selector("#details h2, #message.bad")
    assert page.evaluate("window.taken === undefined")
    assert page.evaluate("document.querySelectorAll('a[href^=javascript], #answers img, #answers svg').length") == 0
    assert all(url.startswith(hostile) for url in requested)


def test_a_key_is_asked_for_kept_and_refused(page: "Page", plain_folder: Path, tmp_path: Path) -> None:
    key = make_key(tmp_path / "keys.json", label="reader")
    with server_process(f"small={plain_folder}", "--keys", str(tmp_path / "keys.json")) as (_, client):
        page.goto(str(client.base_url))
        page.get_by_role("textbox", name="Key").fill("clew_wrong")
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("does not know this key").wait_for()
        page.get_by_role("textbox", name="Key").fill(key)
        page.get_by_role("button", name="Use it").click()
        page.wait_for_selector("#index option", state="attached")
        assert page.locator("#admin-link").is_hidden()
        page.goto(f"{client.base_url}/documents")
        page.wait_for_selector("#documents li")
        assert page.locator("#adding").is_hidden()
        assert page.locator("#documents button").count() == 0
        page.goto(f"{client.base_url}/admin")
        page.wait_for_selector("#message.bad")
        assert json.dumps(key) not in page.content()
