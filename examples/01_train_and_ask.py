"""Train a network on generated stories and ask it about one of your own: about ten seconds on one core.

The stories are of bAbI's task 1: people walk from place to place, and the question is where somebody is.
"""

from pathlib import Path

from entnet import Tracker, TrainConfig
from entnet.data.babi_tasks import generate
from entnet.training.loop import Run
from entnet.training.setup import prepare

directory = Path("runs/task1")

# Stories to train on, to choose the best epoch by, and to test on; no story is in two of them.
train = generate(task=1, questions=1_000, seed=1)
valid = generate(task=1, questions=200, seed=1, split="valid")
test = generate(task=1, questions=200, seed=1, split="test")

# A network and its training. Whatever is not given has the paper's value.
config = TrainConfig(epochs=40, stop_after_zero=2)
prepared = prepare(train, valid, test, config, model_options={"slots": 5, "width": 50})

# The run keeps its state in the directory: started again, it goes on where it was.
result = Run(directory, prepared.build, prepared.data, config).train()
print(f"epochs: {result['epochs']}, test error: {result['best']['test_error']:.1f}%")

# The network of the best epoch, read sentence by sentence.
tracker = Tracker.from_pretrained(directory)
tracker.read("Mary went to the kitchen. John moved to the garden. Mary travelled to the office.")
for question in ("Where is Mary?", "Where is John?"):
    answer = tracker.ask(question)
    print(question, answer.answer, f"({answer.probability:.0%})")
