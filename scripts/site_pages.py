"""Hooks of mkdocs: the pages of the site that nobody types, and links that leave docs/.

Commands and settings are read from the package, results from docs/results, and README, CONTRIBUTING,
CHANGELOG and the benchmarks' report become pages of their own. Links between them work on the site as they
do in the repository; a link to a file that the site does not have becomes the file's name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

import typer
import typer.cli
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from entnet.cli import app
from entnet.cli.settings import describe
from entnet.config import TrainConfig
from entnet.models import model_class
from entnet.models.registry import kinds

ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/report.md": "benchmarks.md",
    "benchmarks/report.svg": "report.svg",
    "benchmarks/serve.md": "benchmarks-serve.md",
}
"""Files outside of docs/ that the site has too, and where."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation: results that `entnet report` wrote, and pages that mkdocs.yml does not name."""
    docs = Path(config.docs_dir)
    for section in config.nav or []:
        if "Results" in section:
            section["Results"] = results_navigation(docs / "results")
    named = set(re.findall(r"'([\w./-]+\.md)'", repr(config.nav)))
    others = sorted(page.name for page in docs.glob("*.md") if page.name not in named)
    if others:
        config.nav.append({"More": others})
    return config


def results_navigation(folder: Path) -> list[Any]:
    """The index first, in the order in which it links the others; the pages of runs in a section below."""
    order = re.findall(r"\]\(([\w.-]+)\.md\)", (folder / "index.md").read_text(encoding="utf-8"))
    names = list(dict.fromkeys(order))
    runs = [name for name in names if (folder / "runs" / f"{name}.md").is_file()]
    return [
        "results/index.md",
        *({name: f"results/{name}.md"} for name in names),
        {"Every run": [{name: f"results/runs/{name}.md"} for name in runs]},
    ]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, target in ELSEWHERE.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    for marker, make in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    by_target = {target: source for source, target in ELSEWHERE.items()}
    here = PurePosixPath(by_target.get(page.file.src_uri, f"docs/{page.file.src_uri}"))
    return LINK.sub(lambda link: _on_site(link, here, page, config), markdown)


LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)"
)


def _on_site(link: re.Match[str], here: PurePosixPath, page: Page, config: MkDocsConfig) -> str:
    """A link as it must be on the site: relative to this page's place there."""
    image, text, target, anchor = link.group(1), link.group(2), link.group(3), link.group(4) or ""
    path = os.path.normpath(here.parent / target)
    if path in ELSEWHERE:
        there = ELSEWHERE[path]
    elif path.startswith("docs/results/") and not (ROOT / path).is_file():
        return text  # an experiment that is still to be run
    elif path.startswith("docs/"):
        there = path.removeprefix("docs/")
    elif config.repo_url:
        return f"{image}[{text}]({config.repo_url.rstrip('/')}/blob/main/{path}{anchor})"
    else:
        return text if path.rstrip("/").endswith(text.strip("`")) else f"{text} (`{path}`)"
    relative = os.path.relpath(there, PurePosixPath(page.file.src_uri).parent)
    return f"{image}[{text}]({relative}{anchor})"


def commands() -> str:
    """Every verb of the command line with its options, as its help has them."""
    command = typer.main.get_command(app)
    context = typer.Context(command)
    text = typer.cli.get_docs_for_click(obj=command, ctx=context, name="entnet")
    text = text[
        text.index("## `entnet ") :
    ]  # the list of verbs is the page's own table of contents
    text = text.replace("**Usage**:\n\n", "").replace(
        "* `--help`: Show this message and exit.\n", ""
    )
    text = re.sub(r"\*\*Options\*\*:\n\n(?=\n|#|$)", "", text)
    return re.sub(r"\[bold\]Example:\[/\] (.+)", r"**Example:** `\1`", text)


def settings() -> str:
    """Every setting of every network and of training, with its default and its docstring."""
    configs = {kind: model_class(kind).config_class for kind in kinds()}
    parts = [_settings_of("Training", TrainConfig, "train")]
    parts += [_settings_of(f"Network: {kind}", config, kind) for kind, config in configs.items()]
    return "\n".join(parts)


def _settings_of(title: str, config: type, anchor: str) -> str:
    rows = "".join(
        f"| `{row['name']}` | {_value(row['default'])} | {_cell(row['type'])} | {_cell(row['doc'])} |\n"
        for row in describe(config)
    )
    head = f"## {title} {{#{anchor}}}\n\n`{config.__module__}.{config.__name__}`: {_first_line(config)}\n\n"
    return f"{head}| setting | default | values | what it does |\n|---|---|---|---|\n{rows}"


def _first_line(config: type) -> str:
    return (config.__doc__ or "").strip().splitlines()[0]


def _value(value: Any) -> str:
    return "–" if value in ((), "", None) else f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


GENERATED = {"<!-- every command -->": commands, "<!-- every setting -->": settings}
"""What stands on a page in place of these marks."""
