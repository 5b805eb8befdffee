// New words for known ones, as in entnet/binding.py: a name that a network never saw stands for one of its kind.

const EDGE = "|";
const NAME = "#";
const NO_KIND = -1;
const MOST_NEW = 8;
const MOST_WORDS = 50;

/** Where in sentences each kind of word stands, and what is asked; from a network's card. */
export class Places {
  constructor({ kinds, places, questions, sentences = [], pronouns = {} }) {
    this.kinds = kinds;
    this.contexts = new Map(Object.entries(places));
    this.questions = new Map(Object.entries(questions));
    this.kindOf = new Map(kinds.flatMap(({ members }, kind) => members.map((word) => [word, kind])));
    this.pronouns = Object.entries(pronouns);
    this.shapes = new Map();
    for (const told of sentences) {
      const labels = told.split(" ");
      const shape = labels.map(shapeOf).join(" ");
      this.shapes.set(shape, [...(this.shapes.get(shape) ?? []), labels]);
    }
  }

  /** ``#0`` for a word of kind 0, else the word. */
  label(word) {
    return this.kindOf.has(word) ? `#${this.kindOf.get(word)}` : word;
  }

  /** The kinds that stood where this word does, by the most that is known of the place. */
  stood(labels, place) {
    const known = contexts(labels, place).find((context) => this.contexts.has(context));
    return known === undefined ? [] : this.contexts.get(known);
  }
}

/** Who and what a story has named so far. A value: reading gives another. */
export class Names {
  constructor(places, members = new Map(), about = "") {
    this.places = places;
    this.about = about;
    this.members = members;
    this.named = new Map([...members].map(([name, member]) => [member, name]));
    this.renamed = [...members].some(([name, member]) => name !== member);
  }

  /** A sentence in the network's words; `known` says of a word whether it is one. New words are bound. */
  read(words, known) {
    if (words.length > MOST_WORDS || this.#nothingNew(words, known)) return this.#read(words, [], [], []);
    const besides = this.#besides(words, known);
    const leftOut = words.filter((word) => besides.has(word));
    words = words.filter((word) => !besides.has(word));
    const { kinds, unclear } = this.#kindsOf(words, known);
    const members = new Map(this.members);
    const used = new Map(this.named);
    const bound = [];
    const unbound = [...unclear].map(([word, reason]) => ({ word, reason }));
    for (const [word, kind] of kinds) {
      if (members.has(word)) continue;
      const member = this.#free(word, kind, used);
      if (member === undefined) {
        unbound.push({ word, reason: this.#full(kind) });
        continue;
      }
      members.set(word, member);
      used.set(member, word);
      if (member !== word) bound.push({ word, kind: this.places.kinds[kind].name, member });
    }
    const names = members.size > this.members.size ? new Names(this.places, members, this.about) : this;
    return names.#read(words, bound, unbound, leftOut);
  }

  /** A sentence whose names are bound. A pronoun becomes that of the member that a name stands for. */
  #read(words, bound, unbound, leftOut) {
    const { pronouns } = this.places;
    let read = this.inMembers(words);
    if (!pronouns.length) return { names: this, words: read, bound, unbound, leftOut };
    if (this.about && this.named.get(this.about) !== this.about) {
      const fitting = pronouns.find(([, after]) => after.includes(this.about))?.[0];
      read = read.map((word) => (pronouns.some(([one]) => one === word) ? fitting ?? word : word));
    }
    const named = read.filter((word) => pronouns.some(([, after]) => after.includes(word)));
    const about = !named.length ? this.about : named.length === 1 ? named[0] : "";
    const names = about === this.about ? this : new Names(this.places, this.members, about);
    return { names, words: read, bound, unbound, leftOut };
  }

  /** New words without which this is a sentence of training: all, or else as few as possible, if in one way. */
  #besides(words, known) {
    const fresh = [...new Set(words)].filter((word) => !known(word) && !this.members.has(word));
    if (!fresh.length || this.#isTold(words, fresh, [])) return new Set();
    if (this.#isTold(words, fresh, fresh)) return new Set(fresh);
    if (fresh.length > MOST_NEW) return new Set();
    for (let count = 1; count < fresh.length; count += 1) {
      const ways = combinations(fresh, count).filter((out) => this.#isTold(words, fresh, out));
      if (ways.length) return new Set(ways.length === 1 ? ways[0] : []);
    }
    return new Set();
  }

  /** Whether a sentence of training is left without these words, if other new ones are names. */
  #isTold(words, fresh, out) {
    const rest = words.filter((word) => !out.includes(word));
    const labels = this.inMembers(rest).map((word) => this.places.label(word));
    const shape = labels.map((label, i) => (fresh.includes(rest[i]) ? NAME : shapeOf(label))).join(" ");
    return (this.places.shapes.get(shape) ?? [])
      .some((told) => told.every((other, i) => fresh.includes(rest[i]) || labels[i] === other));
  }

  /** A question in the network's words; a new name stands for a member that is not used, for this question only. */
  asked(words, known) {
    let read = this.inMembers(words);
    if (read.every(known)) return read;
    const kinds = this.#kindsAsked(read, known);
    const used = new Map([...this.named, ...read.map((word) => [word, word])]);
    for (const [i, kind] of kinds) {
      const member = this.#free(words[i], kind, used);
      if (member === undefined) continue;
      read = read.map((other) => (other === words[i] ? member : other));
      used.set(member, words[i]);
    }
    return read;
  }

  #kindsAsked(read, known) {
    const labels = read.map((word) => this.places.label(word));
    const found = new Map();
    for (const frame of this.places.questions.keys()) {
      const there = frame.split(" ");
      if (there.length !== read.length || !there.every((one, i) => one === labels[i] || !known(read[i]))) continue;
      read.forEach((word, i) => {
        if (!known(word)) found.set(i, (found.get(i) ?? new Set()).add(kindNumber(there[i])));
      });
    }
    return [...found].filter(([, of]) => of.size === 1 && !of.has(NO_KIND)).map(([i, of]) => [i, [...of][0]]);
  }

  /** Words as the network reads them. A word whose place another has taken becomes no word at all. */
  inMembers(words) {
    return words.map((word) => this.members.get(word) ?? (this.named.has(word) ? "" : word));
  }

  /** An answer of the network in the words of the story; of a list, each part. */
  told(answer) {
    if (!this.renamed) return answer;
    return answer.split(",").map((part) => this.named.get(part) ?? part).join(",");
  }

  /** Why a question cannot be answered from this story, if it shows in its words alone; else null. */
  whyUnknown(words, known) {
    const read = this.asked(words, known);
    const strange = words.find((word, i) => !known(read[i]));
    if (strange !== undefined) return notInStory(strange);
    const labels = read.map((word) => this.places.label(word));
    const asked = words.filter((word, i) => this.places.kindOf.has(read[i]));
    const named = this.places.questions.get(labels.join(" "));
    if (named === undefined) return "no such question was asked in training";
    const missing = asked.find((word, i) => named[i] && !this.members.has(word));
    return missing === undefined ? null : notInStory(missing);
  }

  #nothingNew(words, known) {
    return words.every((word) => this.members.has(word) || (known(word) && !this.places.kindOf.has(word)));
  }

  /** The kind of every name in a sentence, in order; and of unclear words, what makes them so. */
  #kindsOf(words, known) {
    const { kindOf, kinds } = this.places;
    const different = [...new Set(words)];
    const found = new Map();
    for (const word of different) {
      const kind = kindOf.get(this.members.get(word) ?? word);
      if (kind !== undefined) found.set(word, kind);
    }
    const fresh = different.filter((word) => !found.has(word) && !known(word));
    let stood;
    for (;;) {
      const labels = words.map((word) => (found.has(word) ? `#${found.get(word)}` : fresh.includes(word) ? "" : word));
      stood = fresh.filter((word) => !found.has(word)).map((word) => [word, this.#stood(words, labels, word)]);
      const clear = stood.filter(([, of]) => of.length === 1 && of[0] !== NO_KIND);
      if (!clear.length) break;
      for (const [word, [kind]] of clear) found.set(word, kind);
    }
    const unclear = new Map(stood
      .filter(([, of]) => of.length > 1 && !of.includes(NO_KIND))
      .map(([word, of]) => [word, `it may be ${of.map((kind) => `a ${kinds[kind].name}`).join(" or ")}`]));
    return { kinds: different.filter((word) => found.has(word)).map((word) => [word, found.get(word)]), unclear };
  }

  /** What may stand in all places of the sentence in which the word does. */
  #stood(words, labels, word) {
    return words.flatMap((other, i) => (other === word ? [this.places.stood(labels, i)] : []))
      .reduce((some, others) => some.filter((kind) => others.includes(kind)))
      .slice().sort((a, b) => a - b);
  }

  /** The word itself, if it is of the kind and stands for nothing else; else the first free one. */
  #free(word, kind, used) {
    const { members } = this.places.kinds[kind];
    return members.includes(word) && !used.has(word) ? word : members.find((member) => !used.has(member));
  }

  #full(kind) {
    const { name, members } = this.places.kinds[kind];
    return `the story has as many of its kind (${name}) as the network can tell apart: ${members.length}`;
  }
}

function kindNumber(label) {
  return /^#\d+$/.test(label) ? Number(label.slice(1)) : NO_KIND;
}

function shapeOf(label) {
  return kindNumber(label) === NO_KIND ? label : NAME;
}

function combinations(of, count) {
  if (!count) return [[]];
  return of.flatMap((first, i) => combinations(of.slice(i + 1), count - 1).map((rest) => [first, ...rest]));
}

function notInStory(word) {
  return `${word.includes("'") ? `"${word}"` : `'${word}'`} is not in the story`;
}

/** What a place is known by: two words before it and one after, then two before, then one and one. */
function contexts(labels, place) {
  const padded = [EDGE, EDGE, ...labels, EDGE];
  const [two, before, after] = [padded[place], padded[place + 1], padded[place + 3]];
  if (!before) return []; // a word that is still new tells nothing of its neighbours
  return [
    ...(two && after ? [`${two} ${before} _ ${after}`] : []),
    ...(two && two !== EDGE && before !== EDGE ? [`${two} ${before} _`] : []),
    ...(after ? [`${before} _ ${after}`] : []),
  ];
}
