// What the page asks of a service, answered in the browser: the network and its example stories are in the page.
import { Network, parseStory, oneLine, splitSentences } from "./network.js";

const inside = JSON.parse(document.getElementById("network").textContent);
const network = new Network(inside.network);

/** A page without a service never wants a key. */
export function onKeyNeeded() {}

export async function call(method, path, body) {
  const fresh = path.match(/^\/tasks\/(\d+)\/story$/);
  if (fresh) return anyStory(Number(fresh[1]));
  if (path === "/models") return { models: [inside.about], default: inside.about.name };
  if (path.startsWith("/models/")) return { ...inside.about, vocabulary: network.words.slice(1) };
  if (path === "/tasks") return inside.tasks;
  if (path === "/processes") return { models: [], examples: [] };
  if (path === "/stories/parse") return parseStory(body.text);
  throw new Error(`this page does not know ${method} ${path}`);
}

function anyStory(task) {
  const stories = inside.stories.filter((story) => story.task === task);
  return stories[Math.floor(Math.random() * stories.length)];
}

/** A story being read: the memory after every sentence is kept, so that going back costs nothing. */
export class Session {
  constructor(model) {
    this.model = model;
    this.memories = [network.initialState()];
    this.steps = [];
  }

  static async start(model, sentences) {
    const session = new Session(model);
    session.#take(sentences);
    return session;
  }

  get sentences() {
    return this.steps.map((step) => step.sentence);
  }

  async read(text) {
    return { read: this.#take(splitSentences(text)) };
  }

  async undo() {
    this.steps.pop();
    this.memories.pop();
  }

  async trace() {
    const follows = network.follows();
    return {
      model: this.model,
      slots: follows.map((words, slot) => ({ slot, key: network.keyWords[slot] ?? null, follows: words })),
      start: network.holds(this.memories[0]),
      steps: this.steps,
    };
  }

  async ask(question, after) {
    return { ...network.ask(this.memories[after], question), after };
  }

  end() {}

  /** All of the sentences, or none: a sentence that cannot be read leaves the story as it was. */
  #take(sentences) {
    const encoded = sentences.map((sentence) => ({ sentence: oneLine(sentence), ...network.encode(sentence) }));
    const read = encoded.map(({ sentence, words, unknown }) => {
      const { memory, gates, movement } = network.step(this.memories.at(-1), words);
      this.memories.push(memory);
      const step = { sentence, gates, movement, unknown, words: network.holds(memory) };
      this.steps.push(step);
      return step;
    });
    return read;
  }
}
