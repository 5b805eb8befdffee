// The network in JavaScript: equations (1) to (6), beside the paper's letters as in ops/reference.py.

/** A text that this network cannot read, said to the person who wrote it. */
export class ReadingError extends Error {}

export class Network {
  /** `plain`: what entnet.export.weights wrote. */
  constructor(plain) {
    Object.assign(this, plain);
    this.arrays = Object.fromEntries(
      Object.entries(plain.arrays).map(([name, text]) => [name, text === null ? null : floats(text)]));
    this.index = new Map(this.words.map((word, number) => [word, number]));
    this.rows = this.arrays.R ?? this.arrays.embedding;
    this.rowNorms = norms(this.rows, this.words.length, this.width);
  }

  /** Slots at their keys: a memory of `slots` rows of `width` numbers, one after the other. */
  initialState() {
    return Float64Array.from(this.arrays.keys);
  }

  /** A sentence as numbers, with the words that have none. */
  encode(text) {
    const tokens = tokenise(text, this.lowercase);
    if (!tokens.length) throw new ReadingError("Nothing to read: a sentence or question needs at least one word.");
    if (tokens.length > this.sentenceLength && !this.bagOfWords) {
      throw new ReadingError(
        `${tokens.length} words are too many for this network, which reads sentences of up to ${this.sentenceLength}.`);
    }
    const unknown = [...new Set(tokens.filter((word) => !this.index.has(word)))];
    return { words: tokens.map((word) => this.index.get(word) ?? 0), unknown };
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

  /** Read one sentence, (2) to (5): the memory after it, how far gates opened, how far slots moved. */
  step(memory, words) {
    const { width: d, slots: m } = this;
    const { keys, keyInput, U, W, slope, gateBias, storyMask, gateMask } = this.arrays;
    const seen = this.#sum(words, gateMask);
    const input = W ? product(W, this.#sum(words, storyMask), d) : new Float64Array(d);
    const closed = this.closeOnEmpty && words.every((word) => word === 0);
    const next = Float64Array.from(memory);
    const gates = new Array(m);
    const movement = new Array(m);
    for (let j = 0; j < m; j += 1) {
      const h = memory.subarray(j * d, (j + 1) * d);
      let logit = gateBias ? gateBias[j] : 0;
      for (let k = 0; k < d; k += 1) logit += seen[k] * (h[k] + keys[j * d + k]);
      const g = closed ? 0 : 1 / (1 + Math.exp(-logit)); // (2)
      const x = U ? product(U, h, d) : new Float64Array(d);
      let square = 0;
      for (let k = 0; k < d; k += 1) {
        const candidate = phi(x[k] + keyInput[j * d + k] + input[k], slope, k); // (3)
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
      gates[j] = g;
      movement[j] = Math.sqrt(moved);
    }
    return { memory: next, gates, movement };
  }

  /** (6)  p = softmax(q·h), u = Σ p_j h_j, y = R φ(q + H u): probabilities of answers, and attention. */
  read(memory, words) {
    const { width: d, slots: m } = this;
    const { questionMask, H, R, readoutSlope } = this.arrays;
    let q = this.#sum(words, questionMask);
    let attention = null;
    for (let hop = 0; hop < (H ? this.hops : 1); hop += 1) {
      const scores = new Array(m);
      for (let j = 0; j < m; j += 1) scores[j] = dot(q, memory, j * d, d);
      attention = softmax(scores);
      if (!H) break;
      const u = new Float64Array(d);
      for (let j = 0; j < m; j += 1) for (let k = 0; k < d; k += 1) u[k] += attention[j] * memory[j * d + k];
      const said = product(H, u, d);
      q = q.map((value, k) => phi(value + said[k], readoutSlope, k));
    }
    if (!H) return { probabilities: attention, attention, names: this.keyWords };
    const scores = new Array(this.words.length).fill(-Infinity);
    for (const word of this.allowed) scores[word] = dot(q, R, word * d, d);
    return { probabilities: softmax(scores), attention, names: this.words };
  }

  /** Ask in words: the answer, the next best, and where it was looked for. */
  ask(memory, question, alternatives = 4) {
    const { words, unknown } = this.encode(question);
    const { probabilities, attention, names } = this.read(memory, words);
    const guesses = probabilities
      .map((probability, i) => ({ word: names[i], probability, i }))
      .filter(({ i }) => !this.arrays.H || (i !== 0 && this.allowed.includes(i))) // the null word is no answer
      .sort((a, b) => b.probability - a.probability)
      .slice(0, alternatives + 1)
      .map(({ word, probability }) => ({ word, probability }));
    const [{ word: answer, probability }, ...others] = guesses;
    return { question: oneLine(question), answer, probability, alternatives: others, attention, unknown };
  }

  /** For every slot, the words whose rows of R are nearest to φ(H h_j). */
  holds(memory, count = 3) {
    const { width: d, slots: m } = this;
    const { H, readoutSlope } = this.arrays;
    return Array.from({ length: m }, (_, j) => {
      const h = memory.subarray(j * d, (j + 1) * d);
      const said = H ? product(H, h, d).map((value, k) => phi(value, readoutSlope, k)) : h;
      return this.#nearest(said, this.rows, this.rowNorms, count);
    });
  }

  /** For every slot, the words whose embeddings are nearest to its key: what makes it open. */
  follows(count = 3) {
    const { width: d, slots: m } = this;
    const { keys, embedding } = this.arrays;
    const lengths = norms(embedding, this.words.length, d);
    return Array.from({ length: m }, (_, j) =>
      this.#nearest(keys.subarray(j * d, (j + 1) * d), embedding, lengths, count));
  }

  #nearest(vector, rows, lengths, count) {
    const { width: d } = this;
    const length = Math.max(Math.sqrt(dot(vector, vector, 0, d)), 1e-12);
    return this.words
      .map((word, i) => ({ word, similarity: dot(vector, rows, i * d, d) / (length * lengths[i]) }))
      .slice(1)
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, count);
  }
}

// Text, cut as the Python package cuts it.

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
