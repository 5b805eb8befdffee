// An exported story: everything is in the page already; this puts it together.
import { showAnswer } from "./answer.js";
import { MemoryView } from "./memory.js";
import { Player } from "./player.js";
import { StoryView, marked } from "./story.js";

const trace = JSON.parse(document.getElementById("trace").textContent);
const questions = trace.questions.map((asked) => ({
  after: asked.after, question: asked.question, expected: asked.expected, result: asked, current: false,
}));
const story = new StoryView(document.getElementById("story"));
const memory = new MemoryView(document.getElementById("memory"));
const player = new Player(document.getElementById("player"));
const last = trace.steps.length;

function moveTo(step, question = null) {
  for (const other of questions) other.current = other === question;
  story.show(trace.steps, questions, step);
  memory.moveTo(step);
  memory.light(question ? question.result.attention : null);
  player.set(step, trace.steps.map((told) => told.sentence));
  showAnswer(document.getElementById("answer"), question?.result, trace.slots, question?.expected);
  const moment = document.getElementById("moment");
  const told = trace.steps[step - 1];
  moment.classList.toggle("start", step === 0);
  moment.replaceChildren(...(told ? marked(told.sentence, told.unknown, told.bound, told.unbound) : ["Before the first sentence"]));
}

for (const view of [story, memory, player]) view.addEventListener("step", (event) => moveTo(event.detail.step));
story.addEventListener("ask", ({ detail }) => moveTo(detail.question.after, detail.question));
document.getElementById("theme").addEventListener("click", () => window.entnetTheme());
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, .cell") || event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = { ArrowLeft: -1, ArrowRight: 1 };
  if (!moves[event.key]) return;
  event.preventDefault();
  player.go(player.step + moves[event.key]);
});

memory.show(trace, last);
const final = questions.at(-1);
moveTo(final ? final.after : last, final ?? null);
