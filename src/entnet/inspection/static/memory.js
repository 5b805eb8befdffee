// The memory while a story is read: slots down, sentences across, what each slot holds beside it.
import { el, nearText, percent, slotLabel, slotName } from "./dom.js";

const WIDEST = 46;
const NARROWEST = 13;

/** What a slot holds that the story names only later. */
const NOTHING = [{ word: "", similarity: 0 }];

export class MemoryView extends EventTarget {
  /** Draws into `root`. Sends "step" with detail.step when somebody picks a moment. */
  constructor(root) {
    super();
    this.root = root;
    this.trace = null;
    this.step = 0;
    this.attention = null;
    this.quantity = "gates";
    this.order = "auto";
    this.focused = { row: 0, column: 0 };
    root.classList.add("memory");
    this.scroll = el("div.memory-scroll");
    this.detail = el("p.memory-detail");
    root.replaceChildren(this.#bar(), this.scroll, this.detail);
    this.scroll.addEventListener("click", (event) => this.#clicked(event));
    this.scroll.addEventListener("mouseover", (event) => this.#explain(event.target));
    this.scroll.addEventListener("mouseleave", () => this.#explain(null));
    this.scroll.addEventListener("focusin", (event) => this.#explain(event.target));
    this.scroll.addEventListener("keydown", (event) => this.#key(event));
  }

  show(trace, step = trace.steps.length) {
    this.trace = trace;
    this.step = Math.min(step, trace.steps.length);
    this.attention = null;
    this.#build();
  }

  moveTo(step) {
    this.step = Math.max(0, Math.min(step, this.trace.steps.length));
    this.#update();
  }

  /** Show where attention went; null for no question. */
  light(attention) {
    this.attention = attention;
    if (this.order === "attention") this.#build();
    else this.#update();
  }

  // Controls above the table.

  #bar() {
    const choice = el("div.choice", { role: "group", "aria-label": "Colour shows" });
    for (const [quantity, text, title] of [
      ["gates", "Gates", "How far each slot opened"],
      ["movement", "Movement", "How far each slot moved"],
    ]) {
      choice.append(
        el("button", {
          type: "button", title, "aria-pressed": String(quantity === this.quantity), "data-quantity": quantity,
          onclick: () => this.#choose(quantity, choice),
        }, text),
      );
    }
    const order = el("select", {
      "aria-label": "Order of slots",
      onchange: (event) => { this.order = event.target.value; if (this.trace) this.#build(); },
    });
    for (const [value, text] of [
      ["auto", "Grouped by key"], ["slot", "By number"], ["attention", "By attention"],
    ]) order.append(el("option", { value }, text));
    this.low = el("span", {}, "closed");
    this.high = el("span", {}, "open");
    return el("div.memory-bar", {}, choice, order,
      el("span.legend", { "aria-hidden": "true" }, this.low, el("i"), this.high));
  }

  #choose(quantity, choice) {
    this.quantity = quantity;
    for (const button of choice.children) {
      button.setAttribute("aria-pressed", String(button.dataset.quantity === quantity));
    }
    this.low.textContent = quantity === "gates" ? "closed" : "still";
    this.high.textContent = quantity === "gates" ? "open" : "moved most";
    if (this.trace) this.#build();
  }

  #sorted() {
    const slots = [...this.trace.slots];
    if (this.order === "attention" && this.attention) {
      slots.sort((a, b) => this.attention[b.slot] - this.attention[a.slot]);
    } else if (this.order === "auto" && slots.every((slot) => slot.key === null)) {
      slots.sort((a, b) => slotLabel(a).localeCompare(slotLabel(b)) || a.slot - b.slot);
    }
    return slots;
  }

  // The table.

  #build() {
    const { steps } = this.trace;
    const top = this.quantity === "gates" ? 1
      : Math.max(1e-6, ...steps.map((step) => Math.max(...step.movement)));
    const head = el("tr", {},
      el("th.slot", { scope: "col" }, "slot, opens for"), el("th.words", { scope: "col" }, "holds"),
      el("th.look", { scope: "col" }, "attention"));
    const every = steps.length > 30 ? 5 : 1;
    steps.forEach((step, i) => head.append(el("th.step", {
      scope: "col", title: `${i + 1}. ${step.sentence}`, "data-step": i + 1,
    }, el("span", { "aria-hidden": "true" }, (i + 1) % every === 0 || i === 0 ? String(i + 1) : ""),
    el("span.unseen", {}, `${i + 1}. ${step.sentence}`))));
    const body = el("tbody");
    this.rows = this.#sorted().map((slot, row) => this.#row(slot, row, top));
    body.append(...this.rows.map((row) => row.element));
    const table = el("table", { role: "grid", "aria-label": "Memory: slots by sentences, colour is how far gates opened" },
      el("thead", {}, head), body);
    this.scroll.replaceChildren(table);
    table.style.setProperty("--cell-width", `${this.#cellWidth(steps.length)}px`);
    this.heads = [...head.querySelectorAll(".step")];
    this.focused = { row: 0, column: Math.max(0, this.step - 1) };
    this.#update();
  }

  #cellWidth(count) {
    const fixed = this.rows[0].element.querySelector(".look");
    const room = this.scroll.clientWidth - fixed.offsetLeft - fixed.offsetWidth;
    return Math.max(NARROWEST, Math.min(WIDEST, Math.floor(room / Math.max(count, 1))));
  }

  #row(slot, row, top) {
    const learned = slot.key === null;
    const about = learned ? `nearest to its key: ${nearText(slot.follows)}` : `tied to “${slot.key}”`;
    const name = el("th.slot", { scope: "row", title: about },
      el("div", {}, el("span.number", {}, String(slot.slot + 1)),
        el(learned ? "span.learned" : "span", {}, slotLabel(slot))));
    const words = el("td.words");
    const look = el("td.look");
    const cells = this.trace.steps.map((step, i) => el("td.cell", {
      "--v": Math.min(1, step[this.quantity][slot.slot] / top).toFixed(3),
      "data-row": row, "data-step": i + 1, tabindex: "-1",
      "aria-label": `${this.quantity === "gates" ? "gate" : "moved"} ${step[this.quantity][slot.slot].toFixed(2)}`,
    }));
    const element = el("tr", { "data-slot": slot.slot }, name, words, look, ...cells);
    return { slot, element, words, look, cells };
  }

  #update() {
    const { step } = this;
    const strongest = this.attention ? Math.max(...this.attention) : 0;
    for (const row of this.rows) {
      row.cells.forEach((cell, i) => {
        cell.classList.toggle("now", i + 1 === step);
        cell.classList.toggle("later", i + 1 > step);
      });
      this.#fillWords(row);
      const share = this.attention?.[row.slot.slot];
      const lit = share !== undefined && share >= 0.1 && share >= strongest / 3;
      row.element.classList.toggle("lit", lit);
      row.look.replaceChildren(...(share >= 0.01 ? [
        el("div", {}, el("i", { "--p": share.toFixed(4) }), el("em", {}, percent(share))),
      ] : []));
    }
    this.heads.forEach((head, i) => head.classList.toggle("now", i + 1 === step));
    this.#keepInSight();
    this.#rove();
  }

  #fillWords({ slot, words }) {
    const now = this.#held(this.step, slot.slot);
    const before = this.step > 0 ? this.#held(this.step - 1, slot.slot) : now;
    const [first, ...others] = now;
    const said = el("b", {}, first.word);
    said.style.opacity = String(Math.max(0.75, Math.min(1, 0.7 + first.similarity * 0.4)));
    words.classList.toggle("changed", first.word !== before[0].word);
    words.title = nearText(now);
    words.replaceChildren(said, ...others.slice(0, 2).map(({ word }) => el("span", {}, word)));
  }

  #held(step, slot) {
    const held = step > 0 ? this.trace.steps[step - 1].words[slot] : this.trace.start[slot];
    return held.length ? held : NOTHING;
  }

  /** Scroll sideways until the present moment shows; the page itself stays where it is. */
  #keepInSight() {
    const cell = this.rows[0]?.cells[this.step - 1];
    if (!cell) { this.scroll.scrollLeft = 0; return; }
    const { slot: name, words, look } = Object.fromEntries(
      ["slot", "words", "look"].map((part) => [part, this.rows[0].element.querySelector(`.${part}`).offsetWidth]));
    const sticky = name + words + look;
    const right = cell.offsetLeft + cell.offsetWidth + 24;
    const left = cell.offsetLeft - sticky - 24;
    if (right > this.scroll.scrollLeft + this.scroll.clientWidth) this.scroll.scrollLeft = right - this.scroll.clientWidth;
    else if (left < this.scroll.scrollLeft) this.scroll.scrollLeft = Math.max(0, left);
  }

  // Looking closer, by mouse and by keyboard.

  #clicked(event) {
    const step = event.target.closest("[data-step]")?.dataset.step;
    if (step) this.dispatchEvent(new CustomEvent("step", { detail: { step: Number(step) } }));
  }

  #explain(target) {
    const cell = target?.closest?.(".cell");
    if (!cell) {
      this.detail.textContent = this.trace?.steps.length
        ? "Point at a cell to look closer, click it to go to that moment."
        : "Nothing has been read: every slot still holds its key.";
      return;
    }
    const step = Number(cell.dataset.step);
    const { slot } = this.rows[Number(cell.dataset.row)];
    const { sentence, gates, movement } = this.trace.steps[step - 1];
    const held = this.#held(step, slot.slot)[0].word;
    this.detail.textContent = `${step}. “${sentence}” — ${slotName(slot)}: gate ${gates[slot.slot].toFixed(2)}, `
      + `moved ${movement[slot.slot].toFixed(2)}, then held “${held}”.`;
  }

  #rove() {
    this.scroll.querySelector('.cell[tabindex="0"]')?.setAttribute("tabindex", "-1");
    const column = Math.max(0, Math.min(this.focused.column, this.trace.steps.length - 1));
    this.rows[this.focused.row]?.cells[column]?.setAttribute("tabindex", "0");
    this.#explain(null);
  }

  #key(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    let row = Number(cell.dataset.row);
    let column = Number(cell.dataset.step) - 1;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key === "Enter" || event.key === " ") {
      this.dispatchEvent(new CustomEvent("step", { detail: { step: column + 1 } }));
    } else if (moves[event.key]) {
      row = Math.max(0, Math.min(this.rows.length - 1, row + moves[event.key][0]));
      column = Math.max(0, Math.min(this.trace.steps.length - 1, column + moves[event.key][1]));
      cell.setAttribute("tabindex", "-1");
      const next = this.rows[row].cells[column];
      next.setAttribute("tabindex", "0");
      next.focus();
    } else return;
    this.focused = { row, column };
    event.preventDefault();
    event.stopPropagation();
  }
}
