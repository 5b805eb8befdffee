// Small helpers shared by everything that draws.

/** The element of this id. */
export const find = (id) => document.getElementById(id);

/** An element with a class, attributes and children: el("td.cell.now", { title: "…" }, "text"). */
export function el(spec, attributes = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("--")) node.style.setProperty(name, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function percent(share) {
  if (share >= 0.9995) return "100%";
  return share >= 0.1 ? `${(share * 100).toFixed(share >= 0.995 ? 1 : 0)}%` : `${(share * 100).toFixed(1)}%`;
}

/** What a slot stands for: the word its key is tied to, or the one or two nearest to its key. */
export function slotLabel(slot) {
  if (slot.key !== null) return slot.key;
  const nearest = slot.follows[0]?.similarity ?? 0;
  const close = slot.follows.filter(({ similarity }, i) => i === 0 || similarity >= Math.max(0.25, 0.4 * nearest));
  return close.slice(0, 2).map(({ word }) => word).join(", ");
}

/** Words with their similarities, in one line. */
export function nearText(words) {
  return words.map(({ word, similarity }) => `${word} ${similarity.toFixed(2)}`).join(", ");
}

export function slotName(slot) {
  return `slot ${slot.slot + 1} (${slotLabel(slot)})`;
}

/** Slots by share of attention, most first. */
export function mostAttended(attention, count = 3) {
  return attention
    .map((share, slot) => ({ slot, share }))
    .sort((a, b) => b.share - a.share)
    .slice(0, count);
}
