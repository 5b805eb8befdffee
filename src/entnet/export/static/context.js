// What is read beside a sentence, as in entnet/data/context.py.

const PEOPLE = 2;
const PLACES = 3;
const THINGS = [4, 2];

export const NOTHING_TOLD = { about: [], told: new Map(), handled: new Map() };

/** What stands beside a sentence, and what is held after it. */
export function heard(context, words, held) {
  const named = [...new Set(words.filter((word) => context.people.includes(word)))];
  const about = named.length ? named : held.about;
  const beside = [
    filled(named.length ? [] : about.slice(0, PEOPLE), PEOPLE),
    ...sentences(context, about, held).map((told) => filled(told, context.length)),
  ].flat();
  return { beside, held: after(context, words, about, held) };
}

/** Those that stand beside one about these people: as many as there are places for, some of them empty. */
function sentences({ things }, about, { told, handled }) {
  const placesOf = (i, count) => padded(told.get(about[i]) ?? [], count);
  const thingsOf = (i) => padded((handled.get(about[i]) ?? []).map((one) => one.told), THINGS[i]);
  return [...placesOf(0, PLACES), ...placesOf(1, 1), ...(things.length ? [...thingsOf(0), ...thingsOf(1)] : [])];
}

function after({ length, places, things }, words, about, held) {
  const kept = words.slice(0, length);
  let { told, handled } = held;
  if (words.some((word) => places.includes(word))) {
    told = new Map(told);
    for (const who of about) told.set(who, [kept, ...(told.get(who) ?? [])].slice(0, PLACES));
  }
  for (const thing of words.filter((word) => things.includes(word))) {
    handled = new Map(handled);
    for (const who of about) {
      const others = (handled.get(who) ?? []).filter((one) => one.thing !== thing);
      handled.set(who, [{ thing, told: kept }, ...others].slice(0, Math.max(...THINGS)));
    }
  }
  return { about, told, handled };
}

function filled(words, length) {
  return [...words, ...new Array(length - words.length).fill(0)];
}

function padded(rows, count) {
  return [...rows.slice(0, count), ...new Array(Math.max(count - rows.length, 0)).fill([])];
}
