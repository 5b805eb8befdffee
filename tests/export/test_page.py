"""A page without a server: the network in the browser equals the one in Python, and people can use it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
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
from entnet.data.running import MOST_WORDS, running_pieces
from entnet.data.story import Question, Story
from entnet.errors import EntNetError
from entnet.export import page_html, save_page
from entnet.export.page import module
from entnet.export.weights import plain_network
from entnet.inspection.trace import binding_value
from entnet.models.card import Manner, read_manner
from entnet.renaming import new_names, rename
from entnet.text import tokenise
from entnet.tracker import Answer, TextError, load_entity_network
from exported_networks import OPTIONS, network_and_stories

TOLERANCE = 1e-5
READ_ALL = """({plain, manner, stories}) => {
  const network = new Network(plain);
  return stories.map(({sentences, questions}) => {
    const tracker = new Tracker(network, manner);
    const answers = [];
    const ask = (after) => questions.filter((q) => q.after === after)
      .forEach((q) => answers.push(tracker.ask(q.text, after)));
    ask(0);
    sentences.forEach((sentence, i) => { tracker.read([sentence]); ask(i + 1); });
    return {steps: tracker.steps, answers, slots: tracker.slots(), holds: tracker.holds()};
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
    """A blank page that has a network and a tracker, and nothing else."""
    script = "".join(
        module("export", name) for name in ("context.js", "network.js", "binding.js", "tracker.js")
    )
    names = "Network, Tracker, tokenise, runningWords, splitSentences, parseStory"
    with open_page(browser) as opened:
        opened.page.goto("about:blank")
        opened.page.add_script_tag(
            type="module", content=f"{script}\nObject.assign(window, {{{names}}});"
        )
        opened.page.wait_for_function("window.Network !== undefined")
        yield opened.page


def equal_in_browser(
    engine: Page, model: EntNet, stories: Sequence[Story], manner: Manner | None = None
) -> int:
    """Reads stories in both and compares everything; returns how many questions were compared."""
    plain = [
        {
            "sentences": story.sentences,
            "questions": [
                {"after": q.after, "text": q.text}
                for q in sorted(story.questions, key=lambda q: q.after)
            ],
        }
        for story in stories
    ]
    manner = manner or Manner()
    asked = {"plain": plain_network(model), "manner": manner.to_json(), "stories": plain}
    theirs = engine.evaluate(READ_ALL, asked)
    compared = 0
    for story, their in zip(stories, theirs, strict=True):
        tracker = Tracker(model, manner=manner)
        answers = iter(their["answers"])
        for after in range(len(story.sentences) + 1):
            if after:
                (read,) = tracker.read_sentences([story.sentences[after - 1]])
                step = their["steps"][after - 1]
                near(step["gates"], read.gates)
                near(step["movement"], read.movement)
                assert tuple(step["unknown"]) == read.unknown
                assert {name: step[name] for name in ("bound", "unbound")} == binding_value(read)
            for question in (q for q in story.questions if q.after == after):
                same_answer(next(answers), tracker.ask(question.text))
                compared += 1
        for slot, their_slot, held in zip(
            tracker.slots(), their["slots"], their["holds"], strict=True
        ):
            assert slot.key == their_slot["key"]
            for theirs_near, ours_near in (
                (held, slot.words),
                (their_slot["follows"], slot.follows),
            ):
                near([w["similarity"] for w in theirs_near], [w.similarity for w in ours_near])
                if ours_near[0].similarity > ours_near[1].similarity + 2 * TOLERANCE:
                    assert theirs_near[0]["word"] == ours_near[0].word
    return compared


def same_answer(theirs: dict[str, Any], ours: Answer) -> None:
    near([theirs["probability"]], [ours.probability])
    near(theirs["attention"], ours.attention)
    near([g["probability"] for g in theirs["alternatives"]], [g[1] for g in ours.alternatives])
    assert (theirs["known"], theirs["why_unknown"]) == (ours.known, ours.why_unknown)
    assert tuple(theirs["unknown"]) == ours.unknown
    if ours.probability > 0.5 + TOLERANCE:
        assert theirs["answer"] == ours.answer


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


@pytest.mark.parametrize("name", ["babi-joint", "babi-qa2-tied", "world", "long"])
def test_networks_of_every_sort_are_read_as_in_python(engine: Page, name: str) -> None:
    """Tied keys, slots that the story names, gates that shut and running text."""
    stories = generate(2, questions=60, seed=3, split="test")
    book = ("Mr. Dodd--the elder—said “nothing” to 'em…", "It was the best of times, it was not.")
    stories.append(Story((*book, "MARY went to the garden!"), (Question(3, "Where is Mary?", ""),)))
    assert equal_in_browser(engine, load_entity_network(name), stories, read_manner(name)) >= 60


NAMES = list(islice(new_names(random.Random(1), ()), 30))
STRANGE = [
    Story(
        (
            "Alice picked up the lantern.",
            "Alice and Bob went to the cellar.",
            "Mary went to the attic.",
            "Then she said xyzzy to Carol.",
            "The zip zap the zop.",
            "O'Neill dropped the lantern there.",
            "Dan'l took the lantern back to the old cellar.",
            "Then a zip and a zap and a zop went up to the big old cellar.",
            "Mary handed the apple to Alice.",
        ),
        tuple(
            Question(after, text, "")
            for after in (0, 2, 5)
            for text in (
                "Where is Alice?",
                "Where is the lantern?",
                "Where is Mary?",
                "Where is O'Neill?",
                "What is the capital?",
                "Is Carol in the cellar?",
                "Where was the lantern before the cellar?",
                "Who gave the apple to Alice?",
            )
        ),
    ),
    Story(
        tuple(f"{name} went to the {name}s." for name in NAMES),
        (Question(30, "Where is Mary?", ""), Question(0, "Where is Zoe?", "")),
    ),
]


def readable(tracker: Tracker, story: Story) -> Story:
    """The story without sentences and questions that are too long for a network."""

    def fits(text: str, act: Any) -> bool:
        try:
            act(text)
        except TextError:
            return False
        return True

    sentences = tuple(text for text in story.sentences if fits(text, tracker.read))
    questions = tuple(q for q in story.questions if fits(q.text, tracker.ask))
    return Story(sentences, questions)


@pytest.mark.parametrize("name", ["babi-joint", "babi-qa2", "world"])
def test_new_names_are_bound_as_in_python(engine: Page, name: str) -> None:
    model, manner = load_entity_network(name), read_manner(name)
    assert manner.places is not None
    tasks = (2,) if name == "babi-qa2" else (2, 5, 14)
    told = [story for task in tasks for story in generate(task, questions=20, seed=task)]
    names = [word for kind in manner.places.kinds for word in kind.members]
    strange = [readable(Tracker(model, manner=manner), story) for story in STRANGE]
    stories = [*rename(told, names, model.vocab.words), *strange]
    unsure = manner._replace(temperature=1.7, least_probability=0.9)
    assert equal_in_browser(engine, model, stories, manner) >= 40
    assert equal_in_browser(engine, model, stories[::3], unsure) >= 10


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_is_read_as_in_python(engine: Page, options: dict[str, Any]) -> None:
    model, stories = network_and_stories(options)
    assert equal_in_browser(engine, model, stories) >= 20


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
        words = [word for piece in running_pieces(text, MOST_WORDS) for word in piece.words]
        assert engine.evaluate("(t) => runningWords(t)", text) == words
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


def ask(page: Page, question: str) -> None:
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def test_a_story_is_told_and_asked_from_the_disk(watched: Watched, exported: Path) -> None:
    page = opened(watched, exported)
    page.get_by_role("button", name="Clear").click()
    tell(page, "Mary got the milk.", "Mary went to the garden.", "Mary went to the office.")
    ask(page, "Where is the milk?")
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
    page.get_by_label("Next sentence").fill("Mary got the milk and the apple and the football.")
    page.get_by_role("button", name="Tell", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("too many for this network")
    expect(page.locator("#story .sentence")).to_have_count(before)


def test_new_names_are_told_and_asked(watched: Watched, exported: Path) -> None:
    page = opened(watched, exported)
    page.get_by_role("button", name="Clear").click()
    tell(page, "Alice got the lantern.", "Alice went to the cellar.")
    expect(page.locator("#notice")).to_contain_text("cellar: a place")
    expect(page.locator("#names")).to_contain_text("alice (person, read as")
    expect(page.locator("#story .bound")).to_have_count(3)
    ask(page, "Where is the lantern?")
    expect(page.locator("#answer [data-answer]")).to_have_text("cellar")
    ask(page, "Where is Carol?")
    expect(page.locator("#answer [data-answer]")).to_have_text("unknown")
    expect(page.locator("#answer .why")).to_contain_text("'carol' is not in the story")
    page.get_by_text("Words this network knows").click()
    people = page.locator("#words section", has=page.get_by_role("heading", name="person"))
    people.get_by_role("button", name="mary", exact=True).click()
    expect(page.get_by_label("Next sentence")).to_have_value("mary")


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


@pytest.mark.parametrize("name", ["babi-joint", "babi-qa2", "world", "long"])
def test_it_is_small_and_loads_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    assert save_page(name, path) == path.stat().st_size < 1_300_000
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
