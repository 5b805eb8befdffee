// What is read beside a sentence, as in entnet/data/context.py.

const ABOUT = 2;
const KEPT = 3;

export const NOTHING_TOLD = { about: [], told: new Map() };

/** What stands beside a sentence, and what is held after it. */
export function heard({ length, people, places }, words, held) {
  const named = [...new Set(words.filter((word) => people.includes(word)))];
  const about = named.length ? named : held.about;
  const filled = (row, size) => [...row, ...new Array(size - row.length).fill(0)];
  const [first, second] = [0, 1].map((i) => held.told.get(about[i]) ?? []);
  const beside = [
    filled(named.length ? [] : about.slice(0, ABOUT), ABOUT),
    ...[...[0, 1, 2].map((i) => first[i]), second[0]].map((told) => filled(told ?? [], length)),
  ].flat();
  if (!about.length || !words.some((word) => places.includes(word))) return { beside, held: { about, told: held.told } };
  const told = new Map(held.told);
  for (const who of about) told.set(who, [words.slice(0, length), ...(held.told.get(who) ?? []).slice(0, KEPT - 1)]);
  return { beside, held: { about, told } };
}
