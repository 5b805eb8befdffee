"""Look inside a network while it reads: gates, slots in words, attention."""

from entnet import Story, Tracker
from entnet.inspection.page import save_page
from entnet.inspection.trace import trace_story

# A network whose slots are tied to people and things, so that each slot has a name.
tracker = Tracker.from_pretrained("babi-qa2-tied")

names = [slot.key for slot in tracker.slots()]

for read in tracker.read("Mary got the milk. John moved to the bedroom. Mary went to the garden."):
    opened = ", ".join(f"{names[slot]} {gate:.2f}" for slot, gate in read.opened())
    print(f"{read.sentence:28} opened: {opened}")

# The word that each slot would answer by itself, with no question.
for slot in tracker.slots():
    if slot.key in ("mary", "john", "milk"):
        print(f"the slot of {slot.key} holds {slot.words[0].word}")

answer = tracker.ask("Where is the milk?")
print(f"{answer.answer} ({answer.probability:.0%})")
widest = max(range(len(names)), key=lambda slot: answer.attention[slot])
print(f"read from the slot of {names[widest]} ({answer.attention[widest]:.0%} of the attention)")

# A copy that goes on from here by itself: what would be, if …
what_if = tracker.fork()
what_if.read("Mary went to the kitchen.")
print("then:", what_if.ask("Where is the milk?").answer)

# The same as a page to step through in a browser, all in one file.
story = Story(("Mary got the milk.", "Mary went to the garden."), ())
save_page(trace_story(tracker.model, story), "story.html")
