// The story as text: numbered sentences, the questions among them, words the network never saw.
import { el, percent } from "./dom.js";

export class StoryView extends EventTarget {
  /** Draws into `root`, a list. Sends "step" (detail.step) and "ask" (detail.question). */
  constructor(root) {
    super();
    this.root = root;
    root.classList.add("story");
  }

  /** steps: [{ sentence, unknown }]; questions: [{ after, question, expected, result }]. */
  show(steps, questions, step) {
    const items = [];
    const asked = (after) => questions.filter((question) => question.after === after);
    items.push(...asked(0).map((question) => this.#question(question)));
    steps.forEach((told, i) => {
      items.push(this.#sentence(told, i + 1));
      items.push(...asked(i + 1).map((question) => this.#question(question)));
    });
    this.root.replaceChildren(...items);
    this.moveTo(step);
  }

  moveTo(step) {
    for (const item of this.root.children) {
      const at = Number(item.dataset.step);
      const now = at === step && item.classList.contains("sentence");
      item.classList.toggle("now", now);
      item.classList.toggle("later", at > step);
      const button = item.firstElementChild;
      if (now) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
      if (now) this.#reveal(item);
    }
    const asked = this.root.querySelector(".asked");
    if (asked) this.#reveal(asked);
  }

  /** Scroll the list, never the page. */
  #reveal(item) {
    const frame = this.root.parentElement;
    const top = item.offsetTop - frame.offsetTop;
    if (top < frame.scrollTop) frame.scrollTop = top - 8;
    else if (top + item.offsetHeight > frame.scrollTop + frame.clientHeight) {
      frame.scrollTop = top + item.offsetHeight - frame.clientHeight + 8;
    }
  }

  #sentence({ sentence, unknown, bound, unbound }, number) {
    return el("li.sentence", { "data-step": number },
      el("button", { type: "button", onclick: () => this.#send("step", { step: number }) },
        el("span.number", {}, String(number)), el("span", {}, ...marked(sentence, unknown, bound, unbound))));
  }

  #question(question) {
    const { result, expected } = question;
    const item = el("li.question", { "data-step": question.after },
      el("button", { type: "button", onclick: () => this.#send("ask", { question }) },
        el("span.number", { "aria-hidden": "true" }, "?"),
        el("span", {}, question.question, ...(result ? [" ", verdict(result, expected)] : []))));
    item.classList.toggle("asked", Boolean(question.current));
    return item;
  }

  #send(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

function verdict(result, expected) {
  const kind = !expected ? "" : result.answer === expected.toLowerCase() ? ".right" : ".wrong";
  const mark = { "": "", ".right": " ✓", ".wrong": ` ✗ (${expected})` }[kind];
  return el(`span.result${kind}`, { title: percent(result.probability) }, `${result.answer}${mark}`);
}

/** The sentence, with new names and unknown words underlined, and told to those who cannot see that. */
export function marked(sentence, unknown, bound = [], unbound = []) {
  if (!unknown.length && !bound.length) return [sentence];
  return sentence.split(/(\s+)/).map((piece) => {
    const bare = piece.toLowerCase().replace(/^[.,;:!?"()[\]]+|[.,;:!?"()[\]]+$/g, "");
    const named = bound.find(({ word }) => word === bare);
    if (named) {
      return el("span.bound", { title: `new here: a ${named.kind}, read as “${named.member}”` }, piece,
        el("span.unseen", {}, ` (new: a ${named.kind})`));
    }
    if (!unknown.includes(bare)) return piece;
    const why = unbound.find(({ word }) => word === bare)?.reason;
    return el("span.unknown", { title: `never seen in training, read as nothing${why ? `: ${why}` : ""}` }, piece,
      el("span.unseen", {}, " (unknown word)"));
  });
}
