"""The Children's Book Test built from tagged books: the published procedure, held to its own words."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from entnet.cli import app
from entnet.data.cbt.build import (
    DRAWN,
    BuildConfig,
    book_questions,
    build_cbt,
    default_directory,
    draw_candidates,
)
from entnet.data.cbt.format import BLANK, KINDS, CbtQuestion, cbt_file_name, read_cbt
from entnet.data.cbt.rules import READINGS, Lexicon
from entnet.data.cbt.stats import COUNTS, measure_kind, read_stats, stats_markdown
from entnet.data.cbt.tags import Sentence, Token, list_books, read_tagged
from entnet.errors import DataError, EntNetError
from entnet.report import cbt

NAMES = [f"Name{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGH"]
NOUNS = [f"noun{letter}" for letter in "abcdefghijklmnopqrst"]
VERBS = ["saw", "met", "left", "called", "found", "heard", "was", "had"]
PREPOSITIONS = ["in", "on", "with", "to", "by"]


def sentence(draw: random.Random) -> Sentence:
    """Name verb the noun preposition the noun ."""
    verb, noun = draw.choice(VERBS), draw.choice(NOUNS)
    return [
        Token(draw.choice(NAMES), "NNP", "PERSON"),
        Token(verb, "VBD", "O"),
        Token("the", "DT", "O"),
        Token(noun, "NN", "O"),
        Token(draw.choice(PREPOSITIONS), "IN", "O"),
        Token("one", "NN", "NUMBER"),
        Token(draw.choice(["now", "once"]), "RB", "DATE"),
        Token("the", "DT", "O"),
        Token(draw.choice(NOUNS), "NN", "O"),
        Token("first", "JJ", "ORDINAL"),
        Token(".", ".", "O"),
    ]


def book(seed: int, sentences: int) -> list[Sentence]:
    draw = random.Random(seed)
    return [sentence(draw) for _ in range(sentences)]


def write_book(path: Path, sentences: list[Sentence]) -> None:
    text = "".join("".join("\t".join(t) + "\n" for t in s) + "\n" for s in sentences)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    """Five books, one of them too short for a question, one packed."""
    folder = tmp_path / "tagged"
    folder.mkdir()
    lines = ["split\tfile\tsentences"]
    for name, split, count in (
        ("a.tsv.gz", "training", 60),
        ("b.tsv", "validation", 40),
        ("c.tsv", "training", 45),
        ("d.tsv", "test", 44),
        ("e.tsv", "training", 12),
    ):
        write_book(folder / name, book(count, count))
        lines.append(f"{split}\t{name}\t{count}")
    (folder / "books.tsv").write_text("\n".join(lines) + "\n")
    return folder


LEXICON = Lexicon(dict.fromkeys([*(word.lower() for word in [*NAMES, *NOUNS]), "one"], 10))


def questions_of(sentences: list[Sentence], seed: str = "1") -> list[tuple[str, CbtQuestion]]:
    draws = {kind: random.Random(f"{seed} {kind}") for kind in KINDS}
    return list(book_questions(sentences, draws, READINGS["entities"], LEXICON))


def test_every_distinct_eligible_word_is_asked_for() -> None:
    sentences = book(3, 50)
    asked = [q for kind, q in questions_of(sentences) if kind == "NE"]
    expected = []
    for i in range(20, len(sentences)):
        before = {token.word for s in sentences[i - 20 : i] for token in s}
        name = sentences[i][0].word
        expected += [(i, word) for word in (name, "first") if word in before]
    assert [question.answer for question in asked] == [word for _, word in expected]
    for question, (i, word) in zip(asked, expected, strict=True):
        texts = [" ".join(token.word for token in s) for s in sentences[i - 20 : i + 1]]
        assert list(question.sentences) == texts[:20]
        assert question.query.replace(BLANK, word, 1) == texts[20]


def test_candidates_are_ten_distinct_words_of_the_story_in_order() -> None:
    for kind, question in questions_of(book(4, 60)):
        words = {word for text in question.sentences for word in text.split(" ")}
        assert len(set(question.candidates)) == 10
        assert list(question.candidates) == sorted(question.candidates)
        assert question.answer in question.candidates
        assert set(question.candidates) <= words
        if kind in ("NE", "CN"):
            # Names and nouns abound here, so nothing needs filling up.
            allowed = [*NAMES, "first"] if kind == "NE" else [*NOUNS, "one"]
            assert set(question.candidates) <= set(allowed)


def test_verbs_are_no_auxiliaries_and_are_filled_up_with_other_kinds() -> None:
    questions = [q for kind, q in questions_of(book(5, 60)) if kind == "V"]
    assert questions
    for question in questions:
        assert question.answer not in {"was", "had"}
        others = set(question.candidates) - set(VERBS)
        assert len(others) == 10 - len(set(question.candidates) & set(VERBS))
        assert others <= {*NAMES, *NOUNS, *PREPOSITIONS, "first", "one"}


def test_every_word_of_the_kind_is_drawn_equally_often() -> None:
    pool = {f"w{n:02}": 1 + n for n in range(19)}  # how often a word occurs makes no difference
    columns: list[dict[str, int]] = [pool, {}, {}, {}, {}]
    draw = random.Random(1)
    counts = dict.fromkeys(pool, 0)
    for _ in range(4000):
        chosen = draw_candidates("w00", "NE", columns, draw)
        assert chosen is not None
        for word in chosen:
            counts[word] += 1
    assert counts.pop("w00") == 4000
    # 9 of 18 words each time: 2,000 expected, standard deviation 32
    assert all(abs(count - 2000) < 160 for count in counts.values())


def test_names_are_filled_up_with_nouns_before_anything_else() -> None:
    nouns = {f"n{n}": 1 for n in range(12)}
    verbs = {f"v{n}": 1 for n in range(12)}
    chosen = draw_candidates("A", "NE", [{"A": 1, "B": 1}, {}, verbs, {}, nouns], random.Random(1))
    assert chosen is not None
    assert {"A", "B"} <= set(chosen)
    assert all(word[0] in "ABn" for word in chosen)


def test_a_story_with_too_few_words_gives_no_candidates() -> None:
    columns: list[dict[str, int]] = [{"A": 1}, {"b": 1}, {}, {}, {"b": 1}]
    assert draw_candidates("A", "NE", columns, random.Random(1)) is None


def test_built_files_hold_the_splits_by_book(tagged: Path, tmp_path: Path) -> None:
    config = BuildConfig(kinds=("NE", "CN", "V", "P"))
    about = build_cbt(tagged, tmp_path / "out", config, processes=1)
    books = {
        b.name: [" ".join(t.word for t in s) for s in read_tagged(b.path)]
        for b in list_books(tagged)
    }
    home = {"train": ("a", "c", "e"), "valid": ("b",), "test": ("d",)}
    for split, names in home.items():
        texts = {text for name in names for text in books[name]}
        for kind in KINDS:
            questions = read_cbt(tmp_path / "out" / cbt_file_name(kind, split))  # type: ignore[arg-type]
            assert len(questions) == about["questions"][f"{kind} {split}"]
            assert {text for q in questions for text in q.sentences} <= texts
    assert json.loads((tmp_path / "out" / "build.json").read_text()) == json.loads(
        json.dumps(about)
    )
    assert not (tmp_path / "out" / ".parts").exists()


@pytest.mark.slow
def test_two_processes_build_the_same_files_as_one(tagged: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    build_cbt(tagged, tmp_path / "one", processes=1)
    build_cbt(tagged, tmp_path / "two", processes=2, progress=lambda *now: told.append(now))
    assert told == [(n, 5) for n in range(1, 6)]
    for path in sorted((tmp_path / "one").glob("cbtest*")):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_split_alone_is_as_it_is_beside_the_others(tagged: Path, tmp_path: Path) -> None:
    build_cbt(tagged, tmp_path / "all", processes=1)
    build_cbt(tagged, tmp_path / "test", BuildConfig(splits=("test",)), processes=1)
    made = {path.name for path in (tmp_path / "test").iterdir()}
    assert made == {"build.json", cbt_file_name("NE", "test"), cbt_file_name("CN", "test")}
    for name in made - {"build.json"}:
        assert (tmp_path / "test" / name).read_bytes() == (tmp_path / "all" / name).read_bytes()


def test_the_command_keeps_counts_for_the_report(tagged: Path, tmp_path: Path) -> None:
    arguments = ["data", "build-cbt", str(tagged), "--out", str(tmp_path / "out"), "--jobs", "1"]
    arguments += ["--stats", "--results", str(tmp_path), "--dir", str(tmp_path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    built, official = read_stats(tmp_path / COUNTS)
    assert built == {kind: measure_kind(tmp_path / "out", kind) for kind in ("NE", "CN")}
    assert official == {}
    table = stats_markdown(built, official)
    assert table in outcome.output
    (tmp_path / "table4.jsonl").write_text(
        '{"table":"table4","task":"NE","variant":"lstm","seed":1,"valid":0.5,"test":0.5,'
        '"test_questions":9,"questions":"rebuilt"}\n'
    )
    assert table in cbt.pages(tmp_path)[-1].markdown(with_images=False)


def test_another_seed_draws_other_candidates_for_the_same_questions(
    tagged: Path, tmp_path: Path
) -> None:
    for seed in (1, 2):
        build_cbt(tagged, tmp_path / str(seed), BuildConfig(seed=seed), processes=1)
    one, two = (read_cbt(tmp_path / str(seed) / "cbtest_CN_train.txt") for seed in (1, 2))
    whole = [[(q.query.replace(BLANK, q.answer), q.answer) for q in made] for made in (one, two)]
    assert whole[0] == whole[1]
    assert [q.candidates for q in one] != [q.candidates for q in two]


def test_validation_and_test_are_samples_in_the_books_order(
    tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_cbt(tagged, tmp_path / "all", processes=1)
    monkeypatch.setitem(DRAWN, "test", 7)
    about = build_cbt(tagged, tmp_path / "some", processes=1)
    everything = read_cbt(tmp_path / "all" / "cbtest_NE_test_2500ex.txt")
    sample = read_cbt(tmp_path / "some" / "cbtest_NE_test_2500ex.txt")
    assert about["possible"]["NE test"] == len(everything)
    places = [everything.index(question) for question in sample]
    assert len(places) == 7
    assert places == sorted(places)


def test_rare_nouns_are_not_offered_but_fill_up_names(tagged: Path, tmp_path: Path) -> None:
    reading = READINGS["entities"]
    rare, frequent = Token("kodak", "NN", "O"), Token("nouna", "NN", "O")
    assert reading.kinds(rare, LEXICON) == ()
    assert reading.kinds(frequent, LEXICON) == ("CN",)


@pytest.mark.parametrize(
    ("token", "kinds"),
    [
        (Token("Alice", "NNP", "PERSON"), ("NE",)),
        (Token("Hallo", "NNP", "O"), ("NE",)),
        (Token("Mrs.", "NNP", "O"), ()),
        (Token("French", "JJ", "MISC"), ("NE",)),
        (Token("next", "JJ", "DATE"), ()),
        (Token("first", "JJ", "ORDINAL"), ("NE",)),
        (Token("evening", "NN", "TIME"), ("NE",)),
        (Token("once", "RB", "DATE"), ()),
        (Token("two", "CD", "NUMBER"), ()),
        (Token("one", "NN", "NUMBER"), ("CN",)),
        (Token("am", "VBP", "O"), ("V",)),
        (Token("were", "VBD", "O"), ()),
        (Token("to", "TO", "O"), ("P",)),
        (Token("than", "IN", "O"), ("P",)),
    ],
)
def test_kinds_of_words_follow_what_official_questions_show(
    token: Token, kinds: tuple[str, ...]
) -> None:
    assert READINGS["entities"].kinds(token, LEXICON) == kinds


def test_proper_nouns_outside_entities_are_offered_but_not_asked_for() -> None:
    reading = READINGS["entities"]
    assert not reading.asks(Token("Hallo", "NNP", "O"), "NE", LEXICON)
    assert reading.asks(Token("Alice", "NNP", "PERSON"), "NE", LEXICON)


def test_the_default_place_is_the_users_cache() -> None:
    assert default_directory().parts[-2:] == ("entnet", "cbt")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Alice\tNNP\n", "line 1: a line is token, tab"),
        ("Alice\tNNP\tPERSON\nsaid\t\tO\n", "line 2: a line is token, tab"),
    ],
)
def test_a_broken_tagged_line_is_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(DataError, match=words):
        list(read_tagged(tmp_path / "a.tsv"))


def test_damaged_and_missing_books_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(b"no gzip")
    (tmp_path / "b.tsv").write_bytes(b"caf\xe9\tNN\tO\n")
    packed = gzip.compress(b"Alice\tNNP\tPERSON\n" * 100)
    (tmp_path / "c.tsv.gz").write_bytes(packed[: len(packed) // 2])
    for name, words in (
        ("a.tsv.gz", "damaged"),
        ("b.tsv", "not UTF-8"),
        ("c.tsv.gz", "damaged"),
        ("d.tsv", "no such file"),
    ):
        with pytest.raises(DataError, match=words):
            list(read_tagged(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "header"),
        ("book\tfile\nx\ty\n", "header"),
        ("split\tfile\nother\ta.tsv\n", "line 2: split is 'other'"),
        ("split\tfile\ntest\tnone.tsv\n", "line 2: the book 'none.tsv' is not beside"),
    ],
)
def test_a_broken_list_of_books_is_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "books.tsv").write_text(content)
    with pytest.raises(DataError, match=words):
        list_books(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        list_books(tmp_path / "elsewhere")


def test_a_split_without_books_is_refused(tagged: Path, tmp_path: Path) -> None:
    path = tagged / "books.tsv"
    path.write_text(path.read_text().replace("validation", "training"))
    with pytest.raises(EntNetError, match="no book for valid"):
        build_cbt(tagged, tmp_path / "out", processes=1)


def test_the_official_books_give_questions_as_published(
    official_data: Path, tmp_path: Path
) -> None:
    """The first common-noun, verb and preposition questions of the first book are known."""
    path = official_data / "cbt" / "tagged" / "Andrew_Lang_Prince_Prigio.tsv.gz"
    sentences = list(read_tagged(path))
    counts = dict.fromkeys((t.word.lower() for s in sentences for t in s), 10)
    draws = {kind: random.Random(kind) for kind in KINDS}
    asked: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for kind, question in book_questions(sentences, draws, READINGS["entities"], Lexicon(counts)):
        asked[kind].append(question.answer)
    assert asked["NE"][:3] == ["Prigio"] * 3
    assert asked["CN"][:3] == ["queen", "king", "aunts"]
    assert asked["V"][:3] == ["said", "remarked", "said"]
    assert asked["P"][0] == "of"
