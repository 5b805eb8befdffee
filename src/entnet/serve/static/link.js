// A story in a link: all of it stands after the #, which browsers do not send anywhere.

export function toLink({ model, sentences, questions, question, step }) {
  const fields = new URLSearchParams({ model, story: sentences.join("\n") });
  if (questions.length) fields.set("asks", JSON.stringify(questions.map((q) => [q.after, q.question, q.expected])));
  if (question) fields.set("ask", question);
  if (step !== sentences.length) fields.set("at", String(step));
  return `${location.href.split("#")[0]}#${fields}`;
}

/** What the address holds, or null; a link that was cut or made up gives what can be read of it. */
export function fromLink(hash = location.hash) {
  const fields = new URLSearchParams(hash.slice(1));
  if (!fields.has("story")) return null;
  const sentences = fields.get("story").split("\n").map((line) => line.trim()).filter(Boolean);
  const at = Number(fields.get("at") ?? sentences.length);
  return {
    model: fields.get("model"),
    sentences,
    questions: readQuestions(fields.get("asks"), sentences.length),
    question: fields.get("ask"),
    step: Number.isInteger(at) ? Math.max(0, Math.min(at, sentences.length)) : sentences.length,
  };
}

function readQuestions(text, most) {
  try {
    return JSON.parse(text ?? "[]")
      .filter(([after, question]) => Number.isInteger(after) && after >= 0 && after <= most && typeof question === "string")
      .map(([after, question, expected]) => ({ after, question, expected: String(expected ?? "") }));
  } catch {
    return [];
  }
}
