// Moving through a story's time: first, back, play, on, last, and a slider.
import { el } from "./dom.js";

const SHAPES = {
  first: "M3 2h2v12H3zM14 2v12L6 8z",
  back: "M12 2v12L4 8z",
  play: "M4 2v12l9-6z",
  pause: "M4 2h3v12H4zM9 2h3v12H9z",
  on: "M4 2v12l8-6z",
  last: "M11 2h2v12h-2zM2 2v12l8-6z",
};
const BEAT = 900;

export class Player extends EventTarget {
  /** Draws into `root`. Sends "step" with detail.step. */
  constructor(root) {
    super();
    this.length = 0;
    this.step = 0;
    this.timer = null;
    this.buttons = {
      first: this.#button("first", "To the start", () => this.go(0), "edge"),
      back: this.#button("back", "One sentence back", () => this.go(this.step - 1)),
      play: this.#button("play", "Play", () => this.toggle()),
      on: this.#button("on", "One sentence on", () => this.go(this.step + 1)),
      last: this.#button("last", "To the end", () => this.go(this.length), "edge"),
    };
    this.slider = el("input", {
      type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment in the story",
      oninput: () => this.go(Number(this.slider.value)),
    });
    this.output = el("output");
    root.classList.add("player");
    root.replaceChildren(...Object.values(this.buttons), this.slider, this.output);
  }

  /** Show a moment without telling anybody. */
  set(step, sentences) {
    this.step = step;
    this.length = sentences.length;
    this.slider.max = String(this.length);
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext",
      step ? `after sentence ${step} of ${this.length}: ${sentences[step - 1]}` : "before the first sentence");
    this.output.textContent = `${step} of ${this.length}`;
    this.buttons.first.disabled = this.buttons.back.disabled = step === 0;
    this.buttons.on.disabled = this.buttons.last.disabled = step === this.length;
    this.buttons.play.disabled = this.length === 0;
  }

  go(step) {
    const wanted = Math.max(0, Math.min(this.length, step));
    if (wanted === this.length) this.stop();
    this.dispatchEvent(new CustomEvent("step", { detail: { step: wanted } }));
  }

  toggle() {
    if (this.timer) { this.stop(); return; }
    if (this.step === this.length) this.go(0);
    this.timer = setInterval(() => this.go(this.step + 1), BEAT);
    this.#face("pause", "Pause");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.#face("play", "Play");
  }

  #face(shape, label) {
    this.buttons.play.querySelector("path").setAttribute("d", SHAPES[shape]);
    this.buttons.play.setAttribute("aria-label", label);
    this.buttons.play.title = label;
  }

  #button(shape, label, onclick, kind = "inner") {
    const button = el(`button.${kind}`, { type: "button", "aria-label": label, title: label, onclick });
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", SHAPES[shape]);
    svg.append(path);
    button.append(svg);
    return button;
  }
}
