// An answer: the word, how sure, what else it could have been, where attention went.
import { el, mostAttended, percent, slotName } from "./dom.js";

export function showAnswer(root, answer, slots, expected = "") {
  root.classList.add("answer");
  if (!answer) { root.replaceChildren(); return; }
  const right = expected && answer.answer === expected.toLowerCase();
  const check = !expected ? null
    : right ? el("span.check.right", {}, "✓ right")
      : el("span.check.wrong", {}, `✗ the story says ${expected}`);
  const looked = mostAttended(answer.attention)
    .filter(({ share }, i) => i === 0 || share >= 0.1)
    .map(({ slot, share }) => `${slotName(slots[slot])} ${percent(share)}`);
  const guesses = [{ word: answer.answer, probability: answer.probability }, ...answer.alternatives];
  root.replaceChildren(
    el("div.said", {},
      el("span.word", { "data-answer": answer.answer }, answer.answer),
      el("span.sure", {}, percent(answer.probability)), check),
    el("p.about", {}, `“${answer.question}” after ${answer.after}${looked.length ? ` — looked at ${looked.join(", ")}` : ""}`),
    ...(answer.why_unknown ? [el("p.about.why", {}, `Not known: ${answer.why_unknown}.`)] : []),
    ...(answer.unknown.length
      ? [el("p.about", {}, "never seen in training, read as nothing: ", el("span.unknown", {}, answer.unknown.join(", ")))]
      : []),
    el("ol", { "aria-label": "Most probable answers" }, ...guesses.slice(0, 5).map(({ word, probability }) =>
      el("li", {}, el("span", {}, word), el("i", { "--p": probability.toFixed(4) }), el("em", {}, percent(probability))))),
  );
}

/** The same in one sentence, to be read aloud. */
export function spokenAnswer(answer, slots) {
  const [most] = mostAttended(answer.attention, 1);
  if (!most) return `${answer.question} ${answer.answer}, ${percent(answer.probability)}.`;
  const { slot, share } = most;
  return `${answer.question} ${answer.answer}, ${percent(answer.probability)}. Looked most at ${slotName(slots[slot])}, ${percent(share)}.`;
}
