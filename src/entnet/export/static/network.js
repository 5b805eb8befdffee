// The network in JavaScript: equations (1) to (6), beside the paper's letters as in ops/reference.py.
//
// A state is a value: { slots, memory, held }. `slots` says of each slot which row of the keys it has; there are all of
// them from the start or, where a story names its own, those that it has named. `memory` holds their rows, and `held`
// what stands beside later sentences, if anything does.
import { heard, NOTHING_TOLD } from "./context.js";

/** A text that this network cannot read, said to the person who wrote it. */
export class ReadingError extends Error {}

export class Network {
  /** `plain`: what entnet.export.weights wrote. */
  constructor(plain) {
    Object.assign(this, plain);
    this.arrays = Object.fromEntries(
      Object.entries(plain.arrays).map(([name, text]) => [name, text === null ? null : floats(text)]));
    this.arrays.keys ??= this.#rowsOf(this.arrays.embedding, this.entities ?? []);
    this.index = new Map(this.words.map((word, number) => [word, number]));
    this.rows = this.arrays.R ?? this.arrays.embedding;
    this.rowNorms = norms(this.rows, this.words.length, this.width);
  }

  /** Slots at their keys; where a story names its own, there are none yet. */
  initialState() {
    if (this.entities) return { slots: [], memory: new Float64Array(0), held: NOTHING_TOLD };
    const slots = Array.from({ length: this.slots }, (_, j) => j);
    return { slots, memory: Float64Array.from(this.arrays.keys), held: NOTHING_TOLD };
  }

  #rowsOf(matrix, numbers) {
    const { width: d } = this;
    const rows = new Float32Array(numbers.length * d);
    numbers.forEach((number, i) => rows.set(matrix.subarray(number * d, (number + 1) * d), i * d));
    return rows;
  }

  /** A sentence or question, cut into words. */
  wordsOf(text) {
    const words = this.runningText ? runningWords(text) : tokenise(text, this.lowercase);
    if (!words.length) throw new ReadingError("Nothing to read: a sentence or question needs at least one word.");
    return words;
  }

  knows(word) {
    return this.index.has(word);
  }

  /** Words as numbers, and those that have none. A sentence that is too long is read without these. */
  encode(tokens) {
    let words = tokens.map((word) => this.index.get(word) ?? this.other);
    const unknown = [...new Set(tokens.filter((word) => word && !this.knows(word)))];
    if (words.length > this.sentenceLength && !this.bagOfWords) {
      words = words.filter((number) => number !== 0);
      if (words.length > this.sentenceLength) {
        throw new ReadingError(
          `${words.length} words are too many for this network, which reads sentences of up to ${this.sentenceLength}.`);
      }
    }
    return { words, unknown };
  }

  /** (1)  s = Σ_i f_i ⊙ e_i */
  #sum(words, mask) {
    const { width: d } = this;
    const { embedding } = this.arrays;
    const s = new Float64Array(d);
    words.forEach((word, i) => {
      if (word === 0) return;
      for (let k = 0; k < d; k += 1) s[k] += embedding[word * d + k] * (mask ? mask[i * d + k] : 1);
    });
    return s;
  }

  /** A sentence with what stands beside it, after all of its own places; and what is held after it. */
  #withContext(own, held) {
    if (!this.context) return { words: own, held };
    const { beside, held: after } = heard(this.context, own, held);
    return { words: [...own, ...new Array(this.sentenceLength - own.length).fill(0), ...beside], held: after };
  }

  /** Slots more for each entity that is named for the first time, as long as there is room for all of its slots. */
  #withSlotsFor(state, words) {
    const slots = [...state.slots];
    for (const word of new Set(this.entities ? words : [])) {
      const rows = this.entities.flatMap((entity, row) => (entity === word ? [row] : []));
      if (!slots.includes(rows[0]) && slots.length + rows.length <= this.slots) slots.push(...rows);
    }
    const memory = new Float64Array(slots.length * this.width);
    memory.set(state.memory);
    for (let j = state.slots.length; j < slots.length; j += 1) memory.set(this.#key(slots[j]), j * this.width);
    return { slots, memory };
  }

  #key(row) {
    return this.arrays.keys.subarray(row * this.width, (row + 1) * this.width);
  }

  /** Read one sentence, (2) to (5): the state after it, how far gates opened, how far slots moved. */
  step(before, own) {
    const { width: d, gateShape: shape } = this;
    const { words, held } = this.#withContext(own, before.held);
    const { keys, keyInput, U, W, slope, gateBias, storyMask, gateMask } = this.arrays;
    const { slots, memory } = this.#withSlotsFor(before, own);
    const m = slots.length;
    const seen = this.#sum(words, gateMask);
    const input = W ? product(W, this.#sum(words, storyMask), d) : new Float64Array(d);
    const closed = this.closeOnEmpty && words.every((word) => word === 0);
    const next = Float64Array.from(memory);
    const gates = new Array(m);
    const movement = new Array(m);
    for (let j = 0; j < m; j += 1) {
      const h = memory.subarray(j * d, (j + 1) * d);
      const key = slots[j] * d;
      let logit = gateBias ? gateBias[slots[j]] : 0;
      for (let k = 0; k < d; k += 1) logit += seen[k] * (h[k] + keys[key + k]);
      let g = closed ? 0 : 1 / (1 + Math.exp(-logit)); // (2)
      if (shape) g = g >= shape.threshold ? shape.scale * g + shape.shift : 0;
      gates[j] = g;
      movement[j] = 0;
      if (shape && g <= 0) continue; // a shut slot stays as it is
      const x = U ? product(U, h, d) : new Float64Array(d);
      let square = 0;
      for (let k = 0; k < d; k += 1) {
        const candidate = phi(x[k] + keyInput[key + k] + input[k], slope, k); // (3)
        const value = h[k] + g * candidate; // (4)
        next[j * d + k] = value;
        square += value * value;
      }
      if (this.normalise) { // (5); a slot of norm 0 stays what it is
        const norm = Math.max(square > 0 ? Math.sqrt(square) : 1, this.normFloor);
        for (let k = 0; k < d; k += 1) next[j * d + k] /= norm;
      }
      let moved = 0;
      for (let k = 0; k < d; k += 1) moved += (next[j * d + k] - h[k]) ** 2;
      movement[j] = Math.sqrt(moved);
    }
    return { state: { slots, memory: next, held }, gates, movement };
  }

  /** (6)  p = softmax(q·h), u = Σ p_j h_j, y = R φ(q + H u): scores of answers, and attention. */
  read({ slots, memory }, words) {
    const { width: d } = this;
    const m = slots.length;
    const { questionMask, H, R, readoutSlope } = this.arrays;
    let q = this.#sum(words, questionMask);
    let attention = null;
    let scores;
    for (let hop = 0; hop < (H ? this.hops : 1); hop += 1) {
      scores = new Array(m);
      for (let j = 0; j < m; j += 1) scores[j] = dot(q, memory, j * d, d);
      attention = softmax(scores);
      if (!H) break;
      const u = new Float64Array(d);
      for (let j = 0; j < m; j += 1) for (let k = 0; k < d; k += 1) u[k] += attention[j] * memory[j * d + k];
      const said = product(H, u, d);
      q = q.map((value, k) => phi(value + said[k], readoutSlope, k));
    }
    if (!H) return { scores, attention, names: this.keyWords };
    scores = new Array(this.words.length).fill(-Infinity);
    for (const word of this.allowed) scores[word] = dot(q, R, word * d, d);
    return { scores, attention, names: this.words };
  }

  /** The most probable answers, best first; the null word is none, but takes its share. */
  guesses(state, words, count, temperature) {
    const { scores, attention, names } = this.read(state, words);
    const guesses = softmax(scores.map((score) => score / temperature))
      .map((probability, i) => ({ word: names[i], probability, i }))
      .filter(({ i }) => !this.arrays.H || (i !== 0 && scores[i] > -Infinity))
      .sort((a, b) => b.probability - a.probability)
      .slice(0, count)
      .map(({ word, probability }) => ({ word, probability }));
    return { guesses, attention };
  }

  /** For every slot, the words whose rows of R are nearest to φ(H h_j). */
  holds({ slots, memory }, count = 3) {
    const { width: d } = this;
    const { H, readoutSlope } = this.arrays;
    return slots.map((_, j) => {
      const h = memory.subarray(j * d, (j + 1) * d);
      const said = H ? product(H, h, d).map((value, k) => phi(value, readoutSlope, k)) : h;
      return this.#nearest(said, this.rows, this.rowNorms, count, "unknown"); // which says nothing of any slot
    });
  }

  /** For every slot, the words whose embeddings are nearest to its key: what makes it open. */
  follows({ slots }, count = 3) {
    const { embedding } = this.arrays;
    const lengths = norms(embedding, this.words.length, this.width);
    return slots.map((row) => this.#nearest(this.#key(row), embedding, lengths, count));
  }

  #nearest(vector, rows, lengths, count, leftOut = null) {
    const { width: d } = this;
    const length = Math.max(Math.sqrt(dot(vector, vector, 0, d)), 1e-12);
    return this.words
      .map((word, i) => ({ word, similarity: dot(vector, rows, i * d, d) / (length * lengths[i]) }))
      .slice(1)
      .filter(({ word }) => word !== leftOut)
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, count);
  }
}

// Text, cut as the Python package cuts it.

const RUNNING_EDGES = /^[.,;:!?"()[\]{}*_'`“”‘’…«»]+|[.,;:!?"()[\]{}*_'`“”‘’…«»]+$/g;

/** Words of running text, such as a book's: cut at dashes, too, and lowered in ASCII only (data/running.py). */
export function runningWords(text) {
  return text.split(/\s+/).flatMap((run) => run.split(/-{2,}|[–—]/))
    .map((word) => word.replace(RUNNING_EDGES, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase()))
    .filter(Boolean);
}

export function tokenise(text, lowercase) {
  const edge = /^[.,;:!?"()[\]]+|[.,;:!?"()[\]]+$/g;
  return (lowercase ? text.toLowerCase() : text).split(/\s+/).map((word) => word.replace(edge, "")).filter(Boolean);
}

export function splitSentences(text) {
  return text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .flatMap((line) => line.trim().split(/(?<=[.!?])["'”’)\]]*\s+/))
    .map((piece) => piece.trim())
    .filter((piece) => /[\p{L}\p{N}]/u.test(piece));
}

/** A story as people write it, or lines of a bAbI file: sentences, and questions where they stand. */
export function parseStory(text) {
  let lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).map((line) => line.trim()).filter(Boolean);
  const numbered = /^(\d+)\s+(?=\S)/;
  if (lines.length && lines.every((line) => numbered.test(line))) {
    const starts = lines.filter((line, i) => i > 0
      && BigInt(line.match(numbered)[1]) <= BigInt(lines[i - 1].match(numbered)[1])).length + 1;
    if (starts > 1) throw new ReadingError(`These are ${starts} stories; one is read at a time.`);
    lines = lines.map((line) => line.replace(numbered, ""));
  }
  const sentences = [];
  const questions = [];
  for (const line of lines) {
    const [said, answer = ""] = line.split("\t");
    for (const piece of splitSentences(said)) {
      if (/\?["'”’)\] ]*$/.test(piece)) {
        questions.push({ after: sentences.length, question: piece, answer: answer.trim() });
      } else sentences.push(piece);
    }
  }
  return { sentences, questions };
}

export function oneLine(text) {
  return text.trim().split(/\s+/).join(" ");
}

// Arithmetic.

function floats(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function product(matrix, vector, d) {
  const out = new Float64Array(d);
  for (let i = 0; i < d; i += 1) out[i] = dot(vector, matrix, i * d, d);
  return out;
}

function dot(a, b, start, d) {
  let sum = 0;
  for (let k = 0; k < d; k += 1) sum += a[k] * b[start + k];
  return sum;
}

function phi(x, slope, k) {
  return x > 0 || !slope ? x : slope[k] * x;
}

function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function norms(rows, count, d) {
  return Array.from({ length: count }, (_, i) => {
    let square = 0;
    for (let k = 0; k < d; k += 1) square += rows[i * d + k] ** 2;
    return Math.max(Math.sqrt(square), 1e-12);
  });
}
