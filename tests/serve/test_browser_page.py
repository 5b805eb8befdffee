"""The page, used as people use it, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from browser import Watched, open_browser, open_page

# The machine may be busy with other tests.
expect.set_options(timeout=20_000)

STORY = ["Mary went to the garden.", "John moved to the office.", "Mary travelled to the kitchen."]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    with open_page(browser) as opened:
        yield opened
        opened.check()


def visit(watched: Watched, service: Any, fragment: str = "") -> Page:
    page = watched.page
    page.goto(f"{service.url}/{fragment}")
    expect(page.locator("#story .sentence").first).to_be_visible()
    settled(page)
    return page


def settled(page: Page) -> None:
    """Wait until the page has done all that it was asked."""
    expect(page.locator("body")).not_to_have_attribute("aria-busy", "true")


def tell(page: Page, *sentences: str) -> None:
    for sentence in sentences:
        page.get_by_label("Next sentence").fill(sentence)
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(page.get_by_label("Next sentence")).to_have_value("")


def ask(page: Page, question: str) -> None:
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    settled(page)


def answer(page: Page) -> Any:
    return page.locator("#answer .word")


def begin_empty(page: Page, model: str = "walks-tied") -> None:
    page.get_by_label("Network").select_option(model)
    settled(page)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#empty")).to_be_visible()


def test_type_step_and_ask(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    tell(page, *STORY)
    expect(page.locator("#story .sentence")).to_have_count(3)
    expect(page.locator("#memory tbody tr")).to_have_count(3)
    expect(page.locator("#memory thead .step")).to_have_count(3)
    ask(page, "Where is Mary?")
    expect(answer(page)).to_have_text("kitchen")
    lit = page.locator("#memory tr.lit")
    expect(lit).to_have_count(1)
    expect(lit.locator("th")).to_contain_text("mary")
    expect(lit.locator(".words b")).to_have_text("kitchen")
    page.get_by_role("button", name="To the start").click()
    expect(page.locator("#moment")).to_have_text("Before the first sentence")
    expect(answer(page)).to_have_count(0)
    expect(page.locator("#memory tr.lit")).to_have_count(0)
    page.get_by_role("button", name="One sentence on").click()
    expect(page.locator("#moment")).to_have_text(STORY[0])
    ask(page, "Where is Mary?")
    expect(answer(page)).to_have_text("garden")
    expect(page.locator("#story .asked")).to_contain_text("garden")


def test_gates_are_shown_as_colour(watched: Watched, service: Any) -> None:
    """The cell of the one who moves is darker than those of the others."""
    page = visit(watched, service)
    begin_empty(page)
    tell(page, "Sandra went to the office.", "Mary went to the garden.")

    def open_share(slot: int, step: int) -> float:
        cell = page.locator(f'#memory tr[data-slot="{slot}"] .cell[data-step="{step}"]')
        return float(cell.evaluate("cell => getComputedStyle(cell).getPropertyValue('--v')"))

    assert open_share(2, 1) > open_share(0, 1)
    assert open_share(0, 2) > open_share(2, 2)
    page.locator('#memory tr[data-slot="0"] .cell[data-step="2"]').hover()
    expect(page.locator(".memory-detail")).to_contain_text("slot 1 (mary): gate 0.")
    page.get_by_role("button", name="Movement").click()
    expect(page.get_by_role("button", name="Movement")).to_have_attribute("aria-pressed", "true")
    page.locator('#memory tr[data-slot="2"] .cell[data-step="1"]').click()
    expect(page.locator("#moment")).to_have_text("Sandra went to the office.")


def test_another_network_reads_the_same_story(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    tell(page, *STORY)
    ask(page, "Where is John?")
    page.get_by_label("Network").select_option("walks-free")
    settled(page)
    expect(page.locator("#memory tbody tr")).to_have_count(5)
    expect(page.locator("#story .sentence")).to_have_count(3)
    expect(answer(page)).to_have_text("office")
    assert page.locator("#memory tr.lit .words b").first.inner_text() == "office"


def test_keyboard_alone(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("t")
    for sentence in STORY:
        page.keyboard.type(sentence)
        page.keyboard.press("Enter")
        expect(page.get_by_label("Next sentence")).to_have_value("")
    page.get_by_label("Next sentence").blur()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#moment")).to_have_text(STORY[1])
    page.keyboard.press("Home")
    expect(page.locator("#moment")).to_have_text("Before the first sentence")
    page.keyboard.press("End")
    expect(page.locator("#moment")).to_have_text(STORY[2])
    page.keyboard.press("/")
    page.keyboard.type("Where is Mary?")
    page.keyboard.press("Enter")
    expect(answer(page)).to_have_text("kitchen")
    expect(page.locator("#spoken")).to_contain_text("Where is Mary? kitchen")
    page.locator('.cell[tabindex="0"]').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".memory-detail")).to_contain_text("2. “John moved to the office.”")
    page.keyboard.press("Enter")
    expect(page.locator("#moment")).to_have_text(STORY[1])


def test_play_runs_to_the_end(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    tell(page, *STORY[:2])
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#moment")).to_have_text(STORY[1], timeout=8000)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_paste_edit_and_undo(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    page.get_by_label("Next sentence").focus()
    pasted = "1 Mary went to the garden.\n2 Where is Mary? \tgarden\t1\n3 John went to the office."
    page.evaluate(
        """text => {
          const clipboard = new DataTransfer();
          clipboard.setData("text", text);
          document.activeElement.dispatchEvent(
            new ClipboardEvent("paste", { clipboardData: clipboard, bubbles: true, cancelable: true }));
        }""",
        pasted,
    )
    expect(page.locator("#story .sentence")).to_have_count(2)
    expect(page.locator("#answer .check")).to_have_text("✓ right")
    page.get_by_role("button", name="Edit").click()
    whole = page.get_by_label("The whole story")
    assert whole.input_value().splitlines() == [
        "Mary went to the garden.", "Where is Mary?\tgarden", "John went to the office.",
    ]  # fmt: skip
    whole.fill("Sandra moved to the hallway.\nSandra moved to the kitchen.\nWhere is Sandra?")
    page.get_by_role("button", name="Read it").click()
    expect(answer(page)).to_have_text("kitchen")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#story .sentence")).to_have_count(1)
    ask(page, "Where is Sandra?")
    expect(answer(page)).to_have_text("hallway")


def test_unknown_words_are_shown(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    tell(page, "Mary flew to the garden.")
    expect(page.locator("#notice")).to_contain_text("flew")
    expect(page.locator("#story .unknown")).to_contain_text("flew")
    page.get_by_text("Words this network knows").click()
    page.locator("#words").get_by_role("button", name="kitchen", exact=True).click()
    expect(page.get_by_label("Next sentence")).to_have_value("kitchen")


def test_text_is_never_taken_for_markup(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    evil = "<img src=x onerror=alert(1)> went to the garden."
    tell(page, evil)
    expect(page.locator("#story .sentence")).to_contain_text("<img")
    expect(page.locator("#story img")).to_have_count(0)
    assert page.locator("#moment").inner_text().startswith("<img")


def test_a_link_opens_the_same_story(watched: Watched, service: Any, browser: Browser) -> None:
    page = visit(watched, service)
    begin_empty(page)
    tell(page, *STORY)
    page.get_by_role("button", name="One sentence back").click()
    ask(page, "Where is Mary?")
    page.get_by_role("button", name="Share").click()
    settled(page)
    link = page.evaluate("location.href")
    assert "story=Mary" in link
    with open_page(browser) as other:
        other.page.goto(link)
        expect(answer(other.page)).to_have_text("garden")
        expect(other.page.locator("#moment")).to_have_text(STORY[1])
        expect(other.page.locator("#story .sentence")).to_have_count(3)
        expect(other.page.get_by_label("Network")).to_have_value("walks-tied")
        other.check()


def test_a_session_that_is_gone_is_read_again(watched: Watched, service: Any) -> None:
    """Another visitor, or a restart, may have pushed it out: nobody should notice."""
    page = visit(watched, service)
    begin_empty(page)
    tell(page, *STORY)
    last = [url for url in watched.requests if "/sessions/" in url][-1]
    name = last.split("/sessions/")[1].split("/")[0]
    assert httpx2.delete(f"{service.url}/sessions/{name}").status_code == 204
    ask(page, "Where is Mary?")
    expect(answer(page)).to_have_text("kitchen")
    watched.complaints.clear()  # the browser itself notes the 404


def test_mistakes_are_told(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page, "walks-free")
    page.get_by_label("Next sentence").fill("mary " * 30)
    page.get_by_role("button", name="Tell", exact=True).click()
    expect(page.locator("#notice.bad")).to_contain_text("too many for this network")
    expect(page.locator("#story .sentence")).to_have_count(0)
    watched.complaints.clear()  # the browser itself notes the 422


def test_fresh_stories(watched: Watched, service: Any) -> None:
    page = visit(watched, service)
    begin_empty(page)
    stories = []
    for _ in range(2):
        page.get_by_role("button", name="Fresh story").click()
        settled(page)
        stories.append(page.locator("#story").inner_text())
        expect(answer(page)).to_be_visible()
    assert stories[0] != stories[1]
    assert page.get_by_label("Kind of story").locator("option").count() >= 1


@pytest.mark.parametrize("width", [360, 390, 768])
def test_narrow_screens(browser: Browser, service: Any, width: int) -> None:
    """Nothing is cut off or needs sideways scrolling, but for the memory in its own frame."""
    with open_page(browser, viewport={"width": width, "height": 800}, has_touch=True) as watched:
        page = visit(watched, service)
        begin_empty(page)
        tell(page, *STORY, *STORY, *STORY, *STORY)
        ask(page, "Where is Mary?")
        expect(answer(page)).to_have_text("kitchen")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for name in ("Tell", "Ask", "Share", "Play"):
            box = page.get_by_role("button", name=name, exact=True).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["height"] >= 32
        expect(page.locator("#memory tr.lit th")).to_be_visible()
        watched.check()


def contrast(page: Page, front: str, back: str) -> float:
    return float(
        page.evaluate(
            """([front, back]) => {
              const style = getComputedStyle(document.documentElement);
              const light = (name) => {
                const hex = style.getPropertyValue(name).trim().slice(1);
                const [r, g, b] = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
                  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
              return (a + 0.05) / (b + 0.05);
            }""",
            [front, back],
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(browser: Browser, service: Any, scheme: Any) -> None:
    with open_page(browser, color_scheme=scheme) as watched:
        page = visit(watched, service)
        theme = page.locator("html")
        expect(theme).to_have_attribute("data-theme", scheme)
        for front in ("--ink", "--soft", "--faint", "--light", "--good", "--bad", "--gate"):
            assert contrast(page, front, "--card") >= 4.5, front
        for front in ("--ink", "--soft"):
            assert contrast(page, front, "--paper") >= 4.5, front
        for back in ("--light-soft", "--light-fill"):
            assert contrast(page, "--ink", back) >= 4.5, back
        page.get_by_role("button", name="Light or dark").click()
        expect(theme).to_have_attribute("data-theme", "dark" if scheme == "light" else "light")
        page.reload()
        expect(theme).to_have_attribute("data-theme", "dark" if scheme == "light" else "light")
        watched.check()


def test_everything_has_a_name(watched: Watched, service: Any) -> None:
    """What can be used can be called: every control has a name for those who do not see it."""
    page = visit(watched, service)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, a, summary")]
          .filter((node) => !node.closest("dialog, [hidden]"))
          .filter((node) => !(node.textContent.trim() || node.getAttribute("aria-label")
            || [...(node.labels ?? [])].some((label) => label.textContent.trim())))
          .map((node) => node.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("h1").count() == 1
    assert page.locator("#memory th[scope=row]").count() > 0


def test_a_key_is_asked_for(browser: Browser, start_service: Any) -> None:
    service = start_service("--api-key", "open sesame")
    with open_page(browser) as watched:
        page = watched.page
        page.goto(service.url)
        expect(page.locator("#key-dialog")).to_be_visible()
        page.get_by_label("Key", exact=True).fill("open sesame")
        page.get_by_role("button", name="Use it").click()
        expect(page.locator("#story .sentence").first).to_be_visible()
        watched.check(allowed=("401",))
    service.stop()


def test_the_interface_page(watched: Watched, service: Any) -> None:
    page = watched.page
    page.goto(f"{service.url}/docs")
    expect(page.get_by_text("/sessions/{session_id}/ask")).to_be_visible()
    page.get_by_text("/sessions/{session_id}/ask").click()
    expect(page.locator("details[open] pre").first).to_contain_text('"question": string')


def test_an_exported_story_needs_nothing(
    browser: Browser, walking_networks: dict[str, Path], tmp_path: Path
) -> None:
    from entnet import EntNet, Question, Story
    from entnet.inspection.page import save_page
    from entnet.inspection.trace import trace_story

    model = EntNet.from_pretrained(walking_networks["walks-tied"])
    asked = (Question(1, "Where is Mary?", "garden"), Question(3, "Where is Mary?", "kitchen"))
    save_page(trace_story(model, Story(tuple(STORY), asked), "walks-tied"), tmp_path / "x.html")
    with open_page(browser, offline=True) as watched:
        page = watched.page
        page.goto((tmp_path / "x.html").as_uri())
        expect(answer(page)).to_have_text("kitchen")
        expect(page.locator("#memory tr.lit th")).to_contain_text("mary")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#moment")).to_have_text(STORY[1])
        page.locator("#story .question").first.click()
        expect(answer(page)).to_have_text("garden")
        expect(page.locator("#moment")).to_have_text(STORY[0])
        assert watched.requests == [(tmp_path / "x.html").as_uri()]
        watched.check()
