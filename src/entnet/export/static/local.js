// What the page asks of a service, answered in the browser: the network and its example stories are in the page.
import { Network, parseStory, splitSentences } from "./network.js";
import { Tracker } from "./tracker.js";

const inside = JSON.parse(document.getElementById("network").textContent);
const network = new Network(inside.network);

/** A page without a service never wants a key. */
export function onKeyNeeded() {}

export async function call(method, path, body) {
  const fresh = path.match(/^\/tasks\/(\d+)\/story$/);
  if (fresh) return anyStory(Number(fresh[1]));
  if (path === "/models") return { models: [inside.about], default: inside.about.name };
  if (path.startsWith("/models/")) {
    const kinds = inside.manner.binding?.kinds ?? [];
    return { ...inside.about, vocabulary: network.words.slice(1), kinds };
  }
  if (path === "/tasks") return inside.tasks;
  if (path === "/processes") return { models: [], examples: [] };
  if (path === "/stories/parse") return parseStory(body.text);
  throw new Error(`this page does not know ${method} ${path}`);
}

function anyStory(task) {
  const stories = inside.stories.filter((story) => story.task === task);
  return stories[Math.floor(Math.random() * stories.length)];
}

/** A story being read, as the page knows it from the service. */
export class Session {
  constructor(model) {
    this.model = model;
    this.tracker = new Tracker(network, inside.manner);
  }

  static async start(model, sentences) {
    const session = new Session(model);
    session.tracker.read(sentences);
    return session;
  }

  get sentences() {
    return this.tracker.steps.map((step) => step.sentence);
  }

  async read(text) {
    return { read: this.tracker.read(splitSentences(text)) };
  }

  async undo() {
    this.tracker.undo();
  }

  async trace() {
    const { tracker } = this;
    const slots = tracker.slots();
    // Slots that were named only later: shut, and holding nothing.
    const filled = (values, missing) => slots.map((_, slot) => values[slot] ?? missing);
    return {
      model: this.model,
      slots,
      start: filled(tracker.holds(0), []),
      steps: tracker.steps.map((step, i) => ({
        ...step,
        gates: filled(step.gates, 0),
        movement: filled(step.movement, 0),
        words: filled(tracker.holds(i + 1), []),
      })),
    };
  }

  async ask(question, after) {
    return this.tracker.ask(question, after);
  }

  end() {}
}
