"""Putting a network on the Hugging Face hub, with a card in the hub's format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from entnet.errors import EntNetError
from entnet.hub import FILES, hub_api, is_repository, name_of
from entnet.models.base import SOURCE_FILE, StoryModel, locate
from entnet.models.card import facts_of, read_card, read_manner

BABI_SETS = ("en", "en-10k", "hn", "hn-10k", "shuffled", "shuffled-10k")
BABI_QUESTIONS = 1000
"""In the official test file of a task."""


def push(
    source: str, repository: str, private: bool = False, licence: str | None = None
) -> tuple[str, str]:
    """Put a network, a directory or a shipped name, on the hub: the repository's address, and the commit.

    What cannot be read back is refused before anything is sent. Code is never sent: what is on the hub can
    be loaded without running any.
    """
    if not is_repository(repository) or "@" in repository:
        raise EntNetError(f"{repository!r} does not name a repository; it would be user/name")
    directory = locate(source)
    if (directory / SOURCE_FILE).exists():
        raise EntNetError(
            f"{source} is a kind of network that is defined in a file of your own ({SOURCE_FILE}); only "
            "networks of entnet's own kinds go to the hub, as these can be loaded without running code"
        )
    model = StoryModel.from_pretrained(directory)
    read_manner(directory)
    api = hub_api(repository)
    import httpx2
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import LocalTokenNotFoundError

    files = {
        name: (directory / name).read_bytes() for name in FILES if (directory / name).is_file()
    }
    files["README.md"] = readme(model, read_card(directory), repository, licence).encode()
    try:
        where = api.create_repo(repository, private=private or None, exist_ok=True)
        done = api.create_commit(
            repository,
            [CommitOperationAdd(name, content) for name, content in files.items()],
            commit_message=f"A network for entnet: {', '.join(files)}",
        )
    except LocalTokenNotFoundError as error:
        raise EntNetError(
            "the hub does not know who you are; log in first: hf auth login"
        ) from error
    except (httpx2.HTTPError, OSError, ValueError, RuntimeError) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in (401, 403):
            raise EntNetError(
                f"{repository}: the hub does not let you write there; log in as who may: hf auth login"
            ) from error
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise EntNetError(f"{repository} was not written: {reason}") from error
    return str(where), str(done.oid)


def pull(repository: str, into: Path | None) -> Path:
    """Download a network; into a directory of its own, or else into the hub's cache."""
    if not is_repository(repository):
        raise EntNetError(f"{repository!r} does not name a repository; it would be user/name")
    found = locate(repository)
    StoryModel.from_pretrained(found)
    if into is None:
        return found
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise EntNetError(f"{into} is not empty")
    for name in FILES:
        if (found / name).is_file():
            (into / name).write_bytes((found / name).read_bytes())
    return into


def readme(
    model: StoryModel, card: dict[str, Any], repository: str, licence: str | None = None
) -> str:
    """A card in the hub's format: what programs read as YAML between dashes, then text for people."""
    from huggingface_hub import ModelCardData

    results = _results(card)
    about = ModelCardData(
        language="en",
        license=licence,
        library_name="entnet",
        pipeline_tag="question-answering",
        tags=["entnet", model.config.kind, "memory-networks", "entity-tracking"],
        datasets=sorted({result.dataset_type for result in results}),
        metrics=["accuracy"] if results else None,
        model_name=name_of(repository),
        eval_results=results or None,
    )
    return f"---\n{about.to_yaml()}\n---\n\n{_text(model, card, repository)}"


def _results(card: dict[str, Any]) -> list[Any]:
    """Accuracy on the official test file of each task; nothing for a network that was tested on others."""
    from huggingface_hub import EvalResult

    data, error = card.get("data"), card.get("test_error")
    errors = card.get("task_test_errors") or {str(card.get("task")): error}
    if data not in BABI_SETS or card.get("test_questions") != BABI_QUESTIONS * len(errors):
        return []
    return [
        EvalResult(
            task_type="question-answering",
            dataset_type="facebook/babi_qa",
            dataset_name=f"bAbI {data}",
            dataset_config=f"{data}-qa{task}",
            dataset_split="test",
            metric_type="accuracy",
            metric_value=round(100 - float(error), 4),
        )
        for task, error in errors.items()
    ]


def _text(model: StoryModel, card: dict[str, Any], repository: str) -> str:
    config, facts = model.config, facts_of(card)
    title = f"{facts.title}. " if facts.title else ""
    lines = [
        f"# {name_of(repository)}",
        "",
        f"{title}A network of kind `{config.kind}` for the Python package entnet (Recurrent Entity "
        "Networks, [arXiv 1612.03969](https://arxiv.org/abs/1612.03969)): it reads a story sentence by "
        "sentence, and answers at any moment.",
        "",
        "| | |",
        "|---|---|",
        f"| parameters | {model.parameter_count():,} |",
        f"| words | {len(model.vocab) - 1:,} |",
        *([f"| memory slots | {model.slot_count} |"] if model.slot_count else []),
        *([f"| test error | {facts.test_error:.2f}% |"] if facts.test_error is not None else []),
    ]
    if card.get("train_data"):
        lines.append(f"| training data | {card['train_data']} |")
    lines += [
        "",
        "```python",
        "from entnet import Tracker  # pip install 'entnet[hub]'",
        "",
        f'tracker = Tracker.from_pretrained("{repository}")',
        'tracker.read("Mary went to the garden.")',
        'tracker.ask("Where is Mary?").answer',
        "```",
        "",
        "Weights are safetensors, all else is JSON: loading it runs no code.",
    ]
    kinds = (card.get("binding") or {}).get("kinds", [])
    if kinds:
        lines += ["", "## Words that are interchangeable to it", ""]
        lines += [f"- {kind['name']}: {', '.join(kind['members'])}" for kind in kinds]
    plain = {name: value for name, value in card.items() if name != "binding"}
    if plain:
        lines += ["", "## Where it comes from", "", "```json", json.dumps(plain, indent=1), "```"]
    return "\n".join(lines) + "\n"
