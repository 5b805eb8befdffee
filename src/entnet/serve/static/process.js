// A process: the paragraph and its participants on the left, the grid of their states on the right.
import { el, find } from "./shared/dom.js";
import { processGrid } from "./shared/process.js";
import { call } from "./api.js";

export class ProcessPage {
  /** `soon` runs an action after those under way, and says what went wrong in it. */
  constructor(soon) {
    this.models = [];
    this.examples = [];
    this.model = null;
    find("paragraph").addEventListener("submit", (event) => { event.preventDefault(); soon(() => this.read()); });
    find("example").addEventListener("change", () => soon(() => this.open(this.model)));
  }

  async begin() {
    const { models, examples } = await call("GET", "/processes");
    this.models = models;
    this.examples = examples;
    find("example").replaceChildren(...examples.map(({ name }) => el("option", { value: name }, name)));
  }

  reads(model) {
    return this.models.some(({ name }) => name === model);
  }

  get shown() {
    return !find("process").hidden;
  }

  show(shown) {
    find("process").hidden = !shown;
    find("stories").hidden = shown;
    for (const id of ["share", "story-keys"]) find(id).hidden = shown;
  }

  /** Show the chosen example, as this network reads it, beside its right states. */
  async open(model) {
    this.model = model;
    const example = this.examples.find(({ name }) => name === find("example").value) ?? this.examples[0];
    find("text").value = example.sentences.join("\n");
    find("participants").value = example.participants.join(", ");
    await this.read();
    this.show(true);
  }

  async read() {
    const text = find("text").value;
    const participants = find("participants").value.split(",").map((one) => one.trim()).filter(Boolean);
    const grid = await call("POST", "/processes", { model: this.model, text, participants });
    find("grid").replaceChildren(processGrid(grid));
  }
}
