"""Stories of your own: write them as files, train on them, ask.

Here they come from a few lines of Python: parcels are loaded into vans, and vans drive from depot to depot.
"""

import random
from pathlib import Path

from entnet import Question, Story, Tracker, TrainConfig, read_stories, write_jsonl
from entnet.training.loop import Run
from entnet.training.setup import prepare

VANS, PARCELS = ("red van", "blue van"), ("crate", "parcel", "box")
DEPOTS = ("harbour", "airport", "station", "market")
dice = random.Random(1)


def delivery() -> Story:
    """Every parcel is loaded into a van, vans drive three times, and one parcel is asked for."""
    loaded = {parcel: dice.choice(VANS) for parcel in PARCELS}
    sentences = [f"The {parcel} is loaded into the {van}." for parcel, van in loaded.items()]
    place = dict.fromkeys(VANS, "")
    for van in (*VANS, dice.choice(VANS)):
        place[van] = dice.choice(DEPOTS)
        sentences.append(f"The {van} drives to the {place[van]}.")
    parcel = dice.choice(PARCELS)
    asked = Question(len(sentences), f"Where is the {parcel}?", place[loaded[parcel]])
    return Story(tuple(sentences), (asked,))


# One story per line; see the page on story files for both formats.
write_jsonl("deliveries.jsonl", [delivery() for _ in range(1_500)])
stories = read_stories("deliveries.jsonl")

config = TrainConfig(epochs=60, stop_after_zero=2)
prepared = prepare(stories, None, None, config)  # validation: the last tenth of the stories
result = Run(Path("runs/deliveries"), prepared.build, prepared.data, config).train()
print(f"validation error: {result['best']['valid_error']:.1f}%")

tracker = Tracker.from_pretrained("runs/deliveries")
tracker.read("The crate is loaded into the blue van. The parcel is loaded into the red van.")
tracker.read("The box is loaded into the red van. The red van drives to the market.")
tracker.read("The blue van drives to the harbour. The red van drives to the airport.")
print("Where is the parcel?", tracker.ask("Where is the parcel?").answer)
