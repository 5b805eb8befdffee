"""The task that docs/new-task.md adds works as it stands on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from entnet.data.babi_solvers import SOLVERS, solve_story
from entnet.data.babi_tasks import TASKS, generate

PAGE = Path(__file__).parents[3] / "docs" / "new-task.md"


def test_task_and_solver_of_the_page_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    module, solver = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(module, "task21.py", "exec"), names)
    exec(compile(solver, "solver21.py", "exec"), names)
    monkeypatch.setitem(TASKS, 21, names["TASK"])
    monkeypatch.setitem(SOLVERS, 21, names["are_together"])
    answers = set()
    for story in generate(21, 500, seed=1):
        for solution, question in zip(solve_story(21, story), story.questions, strict=True):
            assert solution == (question.answer, question.supports)
            answers.add(question.answer)
    assert answers == {"yes", "no"}
