// A story as it is read: a network, its memory and the names that were told, as in entnet/tracker.
import { Names, Places } from "./binding.js";
import { oneLine } from "./network.js";

const UNKNOWN = "unknown";

/** Reads and asks one story. Every moment of it is kept, so that going back costs nothing. */
export class Tracker {
  /** `manner`, from the network's card: which new words may be bound, and how sure it really is. */
  constructor(network, manner) {
    this.network = network;
    this.manner = manner;
    const names = manner.binding ? new Names(new Places(manner.binding)) : null;
    this.moments = [{ state: network.initialState(), names }];
    this.steps = [];
  }

  get #now() {
    return this.moments.at(-1);
  }

  /** Read all of the sentences, or none: one that cannot be read leaves the story as it was. */
  read(sentences) {
    const knows = (word) => this.network.knows(word);
    let { names } = this.#now;
    const encoded = sentences.map((sentence) => {
      const tokens = this.network.wordsOf(sentence);
      const read = names ? names.read(tokens, knows) : { names, words: tokens, bound: [], unbound: [], leftOut: [] };
      names = read.names;
      const { words, unknown } = this.network.encode(read.words);
      return { ...read, words, unknown: [...read.leftOut, ...unknown], sentence: oneLine(sentence) };
    });
    return encoded.map((told) => {
      const { state, gates, movement } = this.network.step(this.#now.state, told.words);
      this.moments.push({ state, names: told.names });
      const { sentence, unknown, bound, unbound } = told;
      this.steps.push({ sentence, gates, movement, unknown, bound, unbound });
      return this.steps.at(-1);
    });
  }

  undo() {
    if (!this.steps.length) return;
    this.steps.pop();
    this.moments.pop();
  }

  /** Ask as of so many sentences: the answer, the next best, and where it was looked for. */
  ask(question, after = this.steps.length, alternatives = 4) {
    const { network, manner } = this;
    const { state, names } = this.moments[after];
    const tokens = network.wordsOf(question);
    const knows = (word) => network.knows(word);
    const { words, unknown } = network.encode(names ? names.asked(tokens, knows) : tokens);
    const found = network.guesses(state, words, alternatives + 1, manner.temperature);
    const told = found.guesses.map(({ word, probability }) => ({ word: names ? names.told(word) : word, probability }));
    const { guesses, why } = this.#judged(told, this.#whyUnknown(tokens, after));
    const [{ word: answer, probability }, ...others] = guesses;
    return {
      question: oneLine(question), answer, probability, alternatives: others.slice(0, alternatives),
      attention: found.attention, unknown, known: why === null, why_unknown: why, after,
    };
  }

  /** Why a question cannot be answered, as far as the words tell; else null. */
  #whyUnknown(tokens, after) {
    if (after === 0) return "nothing was told yet";
    const { names } = this.moments[after];
    return names ? names.whyUnknown(tokens, (word) => this.network.knows(word)) : null;
  }

  /** The guesses with "unknown" before them where the answer is not known, and why it is not. */
  #judged(guesses, words) {
    const [best] = guesses;
    const unsure = "the network is not sure enough";
    let why = words;
    if (why === null && best.word === UNKNOWN) why = "the story does not tell";
    else if (why === null && best.probability < this.manner.least_probability) why = unsure;
    if (why === null || best.word === UNKNOWN) return { guesses, why };
    const probability = why === unsure ? 1 - best.probability : 1;
    return { guesses: [{ word: UNKNOWN, probability }, ...guesses], why };
  }

  // Looking into slots, at any moment.

  /** For each slot, the words nearest to what it says. */
  holds(after = this.steps.length) {
    const moment = this.moments[after];
    moment.held ??= told(this.network.holds(moment.state), moment.names);
    return moment.held;
  }

  /** Each slot of the whole story: the word that it stands for, and those that make it open. */
  slots() {
    const { state, names } = this.#now;
    return told(this.network.follows(state), names).map((follows, slot) => {
      const { entities, keyWords } = this.network;
      const row = state.slots[slot];
      const key = keyWords[row] ?? null;
      if (key === null) return { slot, key, follows };
      const ordinal = entities ? row - entities.indexOf(entities[row]) : 0;
      return { slot, key: (names ? names.told(key) : key) + (ordinal ? ` ${ordinal + 1}` : ""), follows };
    });
  }
}

function told(rows, names) {
  if (!names) return rows;
  return rows.map((row) => row.map(({ word, similarity }) => ({ word: names.told(word), similarity })));
}
