"""Talking with a network at a prompt: sentences are read, questions answered, commands obeyed."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from platformdirs import user_state_path
from rich.console import Console
from rich.markup import escape

from entnet.data.plain import is_question, lacks_mark, split_sentences
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.inspection.tables import naming, question_panel, slot_table
from entnet.inspection.trace import Asked, SlotName, slot_names
from entnet.tracker import SentenceRead, Tracker

UNDO_LIMIT = 1000
COMMANDS = {
    ":slots": "what every slot holds",
    ":story": "the sentences so far",
    ":undo": "take back the last sentence",
    ":reset": "forget the story",
    ":save FILE": "keep the memory in a file",
    ":load FILE": "go back to a memory kept in a file",
    ":help": "this list",
    ":quit": "leave (so does Ctrl-D)",
}


class Conversation:
    """What a line typed at the prompt does. Every earlier moment is kept, to be gone back to."""

    def __init__(self, tracker: Tracker, console: Console) -> None:
        self.tracker = tracker
        self.console = console
        self.sentences: list[str] = []
        self.past: deque[tuple[Tracker, list[str]]] = deque(maxlen=UNDO_LIMIT)
        self.over = False

    @property
    def names(self) -> tuple[SlotName, ...]:
        """What the slots stand for by now."""
        return slot_names(self.tracker)

    def line(self, line: str) -> None:
        """Take a line; what is wrong with it is said, and changes nothing."""
        line = line.strip()
        try:
            if line.startswith(":"):
                self._command(line)
            elif line.startswith("?"):
                self.ask(line.lstrip("? ") or "?")
            else:
                for piece in split_sentences(line):
                    self.ask(piece) if is_question(piece) else self.read([piece])
        except EntNetError as error:
            self.console.print(f"[red]{escape(str(error))}[/]")

    def read(self, sentences: Sequence[str]) -> None:
        """Read sentences, saying for each which slots opened."""
        for sentence in sentences:
            before = (self.tracker.fork(), list(self.sentences))
            for read in self.tracker.read_sentences([sentence]):
                self.past.append(before)
                self.sentences.append(read.sentence)
                self.console.print(self._opened(read))

    def ask(self, question: str) -> None:
        asked = Asked(len(self.sentences), "", self.tracker.ask(question))
        self.console.print(question_panel(asked, self.names))

    def _opened(self, read: SentenceRead) -> str:
        names = self.names
        wide = [
            f"{slot + 1} {escape(names[slot].label)} [cyan]{gate:.2f}[/]"
            for slot, gate in read.opened()[:6]
        ]
        text = "[dim]opened[/] " + (", ".join(wide) if wide else "[dim]no slot[/]")
        if not self.names:
            text = "[dim]read[/]"
        if read.bound or read.unbound:
            text += f"   [green]{escape('; '.join(naming(read.bound, read.unbound)))}[/]"
        if read.unknown:
            text += f"   [yellow]unknown: {escape(', '.join(read.unknown))}[/]"
        if lacks_mark(read.sentence):
            text += "   [yellow]read as a sentence: a question ends with ?[/]"
        return text

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        actions = {
            ":slots": self._slots,
            ":story": self._story,
            ":undo": self._undo,
            ":reset": self._reset,
            ":help": self._help,
            ":quit": self._quit,
        }
        files = {":save": self._save, ":load": self._load}
        if name in files:
            if not rest.strip():
                raise EntNetError(f"{name} needs a file name: {name} FILE")
            files[name](Path(rest.strip()).expanduser())
        elif name in actions:
            actions[name]()
        else:
            raise EntNetError(f"no command {name}; :help lists them")

    def _slots(self) -> None:
        if not self.names:
            raise EntNetError("this network has no slots")
        words = [content.words for content in self.tracker.slots()]
        title = f"What the slots hold after {len(self.sentences)}"
        self.console.print(slot_table(self.names, words, title))

    def _story(self) -> None:
        for number, sentence in enumerate(self.sentences, start=1):
            self.console.print(f"[dim]{number:3}[/] {escape(sentence)}")
        if not self.sentences:
            self.console.print("[dim]nothing read yet[/]")

    def _undo(self) -> None:
        if not self.past:
            raise EntNetError("nothing to take back")
        taken = self.sentences[-1] if self.sentences else ""
        self.tracker, self.sentences = self.past.pop()
        self.console.print(f"[dim]took back[/] {escape(taken)}")

    def _reset(self) -> None:
        self.tracker.reset()
        self.sentences = []
        self.past.clear()
        self.console.print("[dim]forgot the story[/]")

    def _save(self, path: Path) -> None:
        try:
            write_atomically(path, self.tracker.snapshot())
        except (OSError, ValueError) as error:
            raise EntNetError(f"{path}: cannot be written: {error}") from error
        self.console.print(f"[dim]saved to[/] {escape(str(path))}")

    def _load(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except (OSError, ValueError) as error:
            raise EntNetError(f"{path}: cannot be read: {error}") from error
        before = (self.tracker.fork(), list(self.sentences))
        self.tracker.restore(content)
        self.past.append(before)
        # A snapshot holds the memory, not the text that it came from.
        self.sentences = []
        self.console.print(f"[dim]went back to[/] {escape(str(path))}")

    def _help(self) -> None:
        self.console.print("Sentences are read. Lines that start or end with ? are asked.")
        for name, what in COMMANDS.items():
            self.console.print(f"  [bold]{name:11}[/] {what}")

    def _quit(self) -> None:
        self.over = True


def converse(conversation: Conversation) -> None:
    """Take lines until there are no more."""
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        count = len(conversation.names)
        ready = f"{count} slots are listening" if count else "A network without slots is listening"
        if getattr(conversation.tracker.model.config, "keys", "") == "named":
            ready = "A slot for everybody and everything is listening"
        conversation.console.print(f"[dim]{ready}; :help says what you can do.[/]")
    for line in _typed(conversation) if at_terminal else sys.stdin:
        conversation.line(line)
        if conversation.over:
            return


def _typed(conversation: Conversation) -> Iterator[str]:
    """Lines from the keyboard, with history and completion where prompt_toolkit is installed."""
    ask_for_line = _prompt(conversation)
    while True:
        try:
            yield ask_for_line()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _prompt(conversation: Conversation) -> Callable[[], str]:
    """A function that asks for a line: prompt_toolkit's, or ``input`` where it is not installed."""
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import FileHistory
    except ImportError:
        return lambda: input("> ")
    history = user_state_path("entnet", ensure_exists=True) / "ask-history"
    words = [*conversation.tracker.model.vocab.words[1:], *(name.split()[0] for name in COMMANDS)]
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)),
        auto_suggest=AutoSuggestFromHistory(),
        completer=WordCompleter(words, ignore_case=True, WORD=True),
        complete_while_typing=False,
        bottom_toolbar=lambda: f" {len(conversation.sentences)} sentences read   :help",
    )
    return lambda: session.prompt("> ")
