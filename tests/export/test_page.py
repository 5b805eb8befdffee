"""A page without a server: the network in the browser equals the one in Python, and people can use it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from typer.testing import CliRunner

from browser import Watched, open_browser, open_page
from entnet import EntNet, EntNetConfig, Tracker, Vocab
from entnet.cli import app
from entnet.data.babi import read_babi
from entnet.data.babi_tasks import generate
from entnet.data.plain import parse_plain, split_sentences
from entnet.data.story import Story
from entnet.errors import EntNetError
from entnet.export import page_html, save_page
from entnet.export.weights import plain_network
from entnet.text import tokenise
from entnet.tracker import load_entity_network

TOLERANCE = 1e-5
READ_ALL = """({plain, stories}) => {
  const network = new Network(plain);
  return stories.map(({sentences, questions}) => {
    let memory = network.initialState();
    const steps = [], answers = [];
    const ask = (after) => questions.filter((q) => q.after === after)
      .forEach((q) => answers.push(network.ask(memory, q.text)));
    ask(0);
    sentences.forEach((sentence, i) => {
      const read = network.step(memory, network.encode(sentence).words);
      memory = read.memory;
      steps.push({gates: read.gates, movement: read.movement, });
      ask(i + 1);
    });
    return {steps, answers, holds: network.holds(memory, 1)};
  });
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    with open_page(browser) as opened:
        yield opened
        opened.check()


@pytest.fixture(scope="module")
def engine(browser: Browser) -> Iterator[Page]:
    """A blank page that has network.js and nothing else."""
    script = (resources.files("entnet") / "export/static/network.js").read_text(encoding="utf-8")
    names = "Network, tokenise, splitSentences, parseStory"
    with open_page(browser) as opened:
        opened.page.goto("about:blank")
        opened.page.add_script_tag(
            type="module", content=f"{script}\nObject.assign(window, {{{names}}});"
        )
        opened.page.wait_for_function("window.Network !== undefined")
        yield opened.page


def equal_in_browser(engine: Page, model: EntNet, stories: Sequence[Story]) -> int:
    """Reads stories in both and compares everything; returns how many questions were compared."""
    plain = [
        {
            "sentences": story.sentences,
            "questions": [{"after": q.after, "text": q.text} for q in story.questions],
        }
        for story in stories
    ]
    theirs = engine.evaluate(READ_ALL, {"plain": plain_network(model), "stories": plain})
    compared = 0
    for story, their in zip(stories, theirs, strict=True):
        tracker = Tracker(model)
        answers = iter(their["answers"])
        for after in range(len(story.sentences) + 1):
            if after:
                (read,) = tracker.read_sentences([story.sentences[after - 1]])
                step = their["steps"][after - 1]
                near(step["gates"], read.gates)
                near(step["movement"], read.movement)
            for question in (q for q in story.questions if q.after == after):
                ours, answer = tracker.ask(question.text), next(answers)
                near([answer["probability"]], [ours.probability])
                near(answer["attention"], ours.attention)
                if ours.probability > 0.5 + TOLERANCE:
                    assert answer["answer"] == ours.answer
                compared += 1
        held = [slot.words[0].similarity for slot in tracker.slots(1)]
        said = [words[0]["similarity"] for words in their["holds"]]
        near(said, held)
    return compared


def near(theirs: Sequence[float], ours: Sequence[float]) -> None:
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("task", range(1, 21))
def test_official_test_stories_are_read_as_in_python(
    engine: Page, official_data: Path, task: int
) -> None:
    (path,) = (official_data / "babi" / "en-10k").glob(f"qa{task}_*_test.txt")
    stories = read_babi(path)[:100]
    model = load_entity_network(f"babi-qa{task}")
    assert equal_in_browser(engine, model, stories) >= 100


@pytest.mark.parametrize("name", ["babi-joint", "babi-qa2-tied"])
def test_joint_and_tied_networks_are_read_as_in_python(engine: Page, name: str) -> None:
    assert (
        equal_in_browser(
            engine, load_entity_network(name), generate(2, questions=60, seed=3, split="test")
        )
        >= 60
    )


@pytest.mark.parametrize(
    "options",
    [
        {"encoder": "bow"},
        {"encoder": "position"},
        {"activation": "identity"},
        {"share_slopes": False, "slopes": "single"},
        {"normalise": False},
        {"hops": 3},
        {"U": "zero", "V": "identity", "W": "identity"},
        {"W": "zero", "gate_bias": False, "candidate_bias": False},
        {"separate_masks": False, "separate_encoders": True, "mask_init": "normal"},
        {"close_on_empty": False},
    ],
    ids=str,
)
def test_every_option_is_read_as_in_python(engine: Page, options: dict[str, Any]) -> None:
    stories = generate(1, questions=20, seed=5, split="train")
    texts = [t for s in stories for t in (*s.sentences, *(q.text for q in s.questions))]
    tokens = [tokenise(text) for text in texts]
    vocab = Vocab.build(w for words in tokens for w in words)
    # Everything but three words is known, so that unknown ones are read too.
    vocab = Vocab([word for word in vocab.words if word not in {"mary", "went", "to"}])
    config = EntNetConfig.from_dict(
        {
            "vocabulary": len(vocab),
            "sentence_length": max(map(len, tokens)),
            "width": 13,
            "slots": 5,
            "embedding_scale": 0.7,
            **options,
        }
    )
    assert equal_in_browser(engine, EntNet(config, vocab).eval(), stories) >= 20


def test_text_is_cut_as_in_python(engine: Page) -> None:
    texts = [
        'Mary said "stop." (She left!) Where is it?  \n\n John  went.',
        "e.g. this; that: [x] -- 3.5 m",
        "Émile a pris l'œuf… Où est-il ?",
        "...\n?!\n",
        "one line\r\nanother\x0bthird",
    ]
    for text in texts:
        assert engine.evaluate("(t) => splitSentences(t)", text) == split_sentences(text)
        assert engine.evaluate("(t) => tokenise(t, true)", text) == tokenise(text)
    lines = "1 Mary went to the garden.\n2 Where is Mary?\tgarden\t1\n3 She left.\n"
    (story,) = parse_plain(lines)
    parsed = engine.evaluate("(t) => parseStory(t)", lines)
    assert tuple(parsed["sentences"]) == story.sentences
    assert parsed["questions"] == [{"after": 1, "question": "Where is Mary?", "answer": "garden"}]
    with pytest.raises(Exception, match="These are 2 stories"):
        engine.evaluate("(t) => parseStory(t)", "1 Mary left.\n1 John left.")


# The page, opened from the disk.


def opened(watched: Watched, path: Path) -> Page:
    page = watched.page
    page.goto(path.as_uri())
    expect(page.locator("#story .sentence").first).to_be_visible()
    expect(page.locator("body")).not_to_have_attribute("aria-busy", "true")
    return page


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    result = CliRunner().invoke(app, ["export", "page", "babi-qa2", "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


def tell(page: Page, *sentences: str) -> None:
    for sentence in sentences:
        page.get_by_label("Next sentence").fill(sentence)
        page.get_by_role("button", name="Tell", exact=True).click()
        expect(page.get_by_label("Next sentence")).to_have_value("")


def test_a_story_is_told_and_asked_from_the_disk(watched: Watched, exported: Path) -> None:
    page = opened(watched, exported)
    page.get_by_role("button", name="Clear").click()
    tell(page, "Mary got the milk.", "Mary went to the garden.", "Mary went to the office.")
    page.get_by_label("Question", exact=True).fill("Where is the milk?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#answer [data-answer]")).to_have_text("office")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="One sentence back").click()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#answer [data-answer]")).to_have_text("garden")
    expect(page.locator("#memory tbody tr")).to_have_count(20)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#story .sentence")).to_have_count(2)


def test_what_cannot_be_read_is_said_and_changes_nothing(watched: Watched, exported: Path) -> None:
    page = opened(watched, exported)
    before = page.locator("#story .sentence").count()
    page.get_by_label("Next sentence").fill("Mary got the milk and then she went to the garden.")
    page.get_by_role("button", name="Tell", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("too many for this network")
    expect(page.locator("#story .sentence")).to_have_count(before)
    tell(page, "Alice got the milk.")
    expect(page.locator("#notice")).to_contain_text("alice")


def test_fresh_stories_are_answered_right(watched: Watched, exported: Path) -> None:
    page = opened(watched, exported)
    for _ in range(3):
        page.get_by_role("button", name="Fresh story").click()
        expect(page.locator("#answer .check.right")).to_be_visible()


def test_a_shared_link_opens_the_same_story(watched: Watched, exported: Path) -> None:
    page = opened(watched, exported)
    sentences = page.locator("#story .sentence").count()
    page.get_by_role("button", name="Share").click()
    expect(page).to_have_url(re.compile(r"^file://.*#.*story="))
    page.reload()
    expect(page.locator("#story .sentence")).to_have_count(sentences)


def test_it_fits_a_phone(browser: Browser, exported: Path) -> None:
    with open_page(browser, viewport={"width": 390, "height": 844}) as phone:
        page = opened(phone, exported)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0
        phone.check()


@pytest.mark.parametrize("name", ["babi-joint", "babi-qa2", "babi-qa19"])
def test_it_is_small_and_loads_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    assert save_page(name, path) == path.stat().st_size < 1_000_000
    text = path.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "\nimport " not in text


def test_words_of_a_vocabulary_cannot_leave_their_element() -> None:
    vocab = Vocab(["<null>", "</script><script>alert(1)</script>", "b"])
    config = EntNetConfig(vocabulary=3, sentence_length=3, width=4, slots=2)
    page = page_html(EntNet(config, vocab), "<b>name</b>")
    assert "alert(1)</script>" not in page
    assert "<title>&lt;b&gt;name" in page
    found = re.search(r'id="network">(.*?)</script>', page, re.DOTALL)
    assert found
    assert json.loads(found.group(1))["network"]["words"] == list(vocab.words)


def test_networks_that_cannot_be_exported_say_why() -> None:
    vocab = Vocab(["<null>", "a", "b"])
    config = EntNetConfig(
        vocabulary=3, sentence_length=3, width=4, slots=2, keys="story", output="slots"
    )
    with pytest.raises(EntNetError, match="keys from the story"):
        plain_network(EntNet(config, vocab))
