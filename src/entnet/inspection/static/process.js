// The grid of a process: sentences down, participants across, the state of each after every sentence.
import { el } from "./dom.js";

const NOWHERE = "-";
const NAMES = { [NOWHERE]: "does not exist", "?": "exists, nobody says where" };

/** A figure of a grid, with the right state where `corrections` has one; they are null if nothing is known. */
export function processGrid({ sentences, participants, states, corrections }) {
  const rows = ["Before the first sentence", ...sentences].map((sentence, step) =>
    el("tr", {}, el("th", { scope: "row" }, sentence), ...states.map((row, i) =>
      cell(row[step], step ? row[step - 1] : row[step], corrections?.[i][step] ?? null))));
  const head = el("tr", {}, el("th", { scope: "col" }, "sentence"),
    ...participants.map((name) => el("th", { scope: "col" }, name)));
  return el("figure.process", {},
    el("div.process-frame", { tabindex: "0", role: "region", "aria-label": "Grid" },
      el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))),
    el("figcaption", {}, caption(corrections)));
}

function cell(state, before, right) {
  const node = el("td", { title: NAMES[state] }, shown(state));
  node.classList.toggle("gone", state === NOWHERE);
  node.classList.toggle("changed", state !== before);
  if (right !== null) node.append(" ", el("span.wrong", {}, `≠ ${shown(right)}`));
  return node;
}

const shown = (state) => (state === NOWHERE ? "–" : state);

function caption(corrections) {
  const legend = "“–” does not exist, “?” is somewhere unknown; what changes is set off.";
  if (!corrections) return legend;
  const cells = corrections.flat();
  const share = Math.round((100 * cells.filter((right) => right === null).length) / cells.length);
  return `${legend} ${share}% of the states are right; the right one follows “≠”.`;
}
