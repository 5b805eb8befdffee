"""What ``entnet evaluate --propara`` and ``entnet inspect`` do with paragraphs on processes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from entnet.cli.common import console, print_json
from entnet.data.babi import read_text
from entnet.data.plain import split_sentences
from entnet.data.propara.document import document_score
from entnet.data.propara.files import read_actions, read_propara, write_predictions
from entnet.data.propara.process import UNKNOWN, Process
from entnet.data.propara.sentence import CATEGORIES, sentence_score
from entnet.errors import EntNetError
from entnet.inspection.processes import EXAMPLE, grid_table, save_grid_page, save_grid_plot
from entnet.models import StoryModel
from entnet.models.processes.base import ProcessModel


def evaluate_propara(model: str, file: Path, out: Path | None, as_json: bool) -> None:
    """Score a network, or a file of predictions, on paragraphs with known states."""
    if Path(model).suffix == ".tsv":
        # Answers are enough to score predictions by; what the sentences say does not matter.
        gold = read_actions(file) if file.suffix == ".tsv" else read_propara(file)
        predicted = read_actions(model)
    else:
        gold = read_propara(file)
        predicted = _process_model(model).predict_processes(gold)
        out = out or Path("predictions.tsv")
    result: dict[str, Any] = {
        "document": document_score(predicted, gold).to_dict(),
        "sentence": sentence_score(predicted, gold).to_dict(),
    }
    if out:
        write_predictions(out, predicted)
        result["predictions"] = str(out)
    if as_json:
        print_json(result)
        return
    console.print(*_tables(result))
    if out:
        console.print(f"predictions are in {out}", soft_wrap=True, markup=False)


def _process_model(name: str) -> ProcessModel:
    network = StoryModel.from_pretrained(name)
    if not isinstance(network, ProcessModel):
        raise EntNetError(
            f"{name}: a {network.config.kind} network does not read processes; "
            "`entnet reproduce propara` trains some that do"
        )
    return network


def _tables(result: dict[str, Any]) -> list[Table]:
    document, sentence = result["document"], result["sentence"]
    lists = Table("document level", "precision", "recall", "F1")
    for name, row in [*document["lists"].items(), ("overall", document)]:
        lists.add_row(name, *(f"{row[key]:.3f}" for key in ("precision", "recall", "f1")))
    categories = Table("sentence level", "accuracy")
    for number, kinds in CATEGORIES.items():
        categories.add_row(f"Cat-{number} ({', '.join(kinds)})", f"{sentence[f'cat{number}']:.2f}")
    for name in ("macro", "micro"):
        categories.add_row(name, f"{sentence[name]:.2f}")
    return [lists, categories]


def inspect_propara(
    network: ProcessModel,
    file: Path | None,
    number: int | None,
    participants: Sequence[str],
    plot: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Show the grid of a paragraph, predicted beside gold where that is known."""
    process, known = _paragraph(file, number, participants)
    (predicted,) = network.predict_processes([process])
    gold = process if known else None
    if plot:
        save_grid_plot(predicted, gold, plot)
    if page:
        save_grid_page(predicted, gold, page)
    if as_json:
        grid = {
            "sentences": process.sentences,
            "participants": process.participants,
            "predicted": predicted.states,
            "gold": process.states if known else None,
        }
        print_json(grid)
        return
    console.print(grid_table(predicted, gold))
    for written in filter(None, (plot, page)):
        console.print(f"[dim]written:[/] {written}")


def _paragraph(
    file: Path | None, number: int | None, participants: Sequence[str]
) -> tuple[Process, bool]:
    """A paragraph, and whether its states are known."""
    if file is None and not participants:
        return EXAMPLE, True
    if file is None or file.suffix == ".txt":
        if file is None or not participants:
            raise EntNetError("a text of one's own needs its participants: --participant water …")
        sentences = tuple(split_sentences(read_text(file)))
        if not sentences:
            raise EntNetError(f"{file}: holds no sentence")
        states = ((UNKNOWN,) * (len(sentences) + 1),) * len(participants)
        return Process(file.stem, sentences, tuple(participants), states), False
    processes = read_propara(file)
    wanted = number or 1
    if not 1 <= wanted <= len(processes):
        raise EntNetError(f"{file}: has {len(processes)} paragraphs, there is no number {wanted}")
    return processes[wanted - 1], True
