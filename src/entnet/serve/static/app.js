// The page: a story on the left, the memory on the right, one moment in time shared by both.
import { showAnswer, spokenAnswer } from "./shared/answer.js";
import { el, find, slotName } from "./shared/dom.js";
import { MemoryView } from "./shared/memory.js";
import { Player } from "./shared/player.js";
import { StoryView, marked } from "./shared/story.js";
import { Session, call, onKeyNeeded } from "./api.js";
import { fromLink, toLink } from "./link.js";
import { ProcessPage } from "./process.js";

const views = {
  story: new StoryView(find("story")),
  memory: new MemoryView(find("memory")),
  player: new Player(find("player")),
};
const state = {
  models: [],
  tasks: [],
  known: new Set(),
  session: null,
  trace: null,
  questions: [],
  step: 0,
  answer: null,
  expected: "",
};
const EXAMPLE = ["Mary went to the garden.", "John moved to the office.", "Mary travelled to the kitchen."];

// One thing at a time: what is asked for while another thing is under way waits for it.

let queue = Promise.resolve();

function soon(action) {
  queue = queue.then(async () => {
    document.body.setAttribute("aria-busy", "true");
    try { await action(); } catch (error) { notify(error.message, true); }
    document.body.removeAttribute("aria-busy");
  });
  return queue;
}

let noticeTimer = null;

function notify(message, bad = false) {
  const notice = find("notice");
  notice.textContent = message;
  notice.classList.toggle("bad", bad);
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { notice.textContent = ""; }, bad ? 9000 : 4000);
}

const processes = new ProcessPage(soon);
/** The kind of story that opens a process. */
const PROCESS = "process";

// The story.

async function openStory(model, sentences, questions = [], step = null) {
  const session = await Session.start(model, sentences);
  state.session?.end();
  state.session = session;
  state.questions = questions.map((question) => ({ ...question, result: null, current: false }));
  state.answer = null;
  await look(step ?? session.sentences.length);
}

/** Fetch what the memory went through, and draw it. */
async function look(step) {
  state.trace = await state.session.trace();
  state.step = Math.min(step, state.trace.steps.length);
  views.memory.show(state.trace, state.step);
  drawStory();
  moveTo(state.step);
}

function drawStory() {
  views.story.show(state.trace.steps, state.questions, state.step);
  find("empty").hidden = state.trace.steps.length > 0 || state.questions.length > 0;
  find("undo").disabled = find("clear").disabled = state.trace.steps.length === 0;
  showNames(state.trace.steps);
  drawAnswer();
}

function drawAnswer() {
  showAnswer(find("answer"), state.answer, state.trace.slots, state.expected);
  views.memory.light(state.answer ? state.answer.attention : null);
}

function moveTo(step) {
  const { steps } = state.trace;
  state.step = Math.max(0, Math.min(step, steps.length));
  if (state.answer && state.answer.after !== state.step) forgetAnswer();
  views.memory.moveTo(state.step);
  views.story.moveTo(state.step);
  views.player.set(state.step, steps.map((told) => told.sentence));
  const moment = find("moment");
  moment.classList.toggle("start", state.step === 0);
  const told = steps[state.step - 1];
  moment.replaceChildren(...(told ? marked(told.sentence, told.unknown, told.bound, told.unbound) : ["Before the first sentence"]));
  find("spoken").textContent = spokenMoment();
}

/** An answer holds for its own moment only. */
function forgetAnswer() {
  state.answer = null;
  for (const question of state.questions) question.current = false;
  views.story.show(state.trace.steps, state.questions, state.step);
  drawAnswer();
}

function spokenMoment() {
  if (!state.step) return "Before the first sentence.";
  const { sentence, gates } = state.trace.steps[state.step - 1];
  const widest = state.trace.slots
    .map((slot) => ({ slot, gate: gates[slot.slot] }))
    .filter(({ gate }) => gate > 0.5)
    .sort((a, b) => b.gate - a.gate)
    .slice(0, 3);
  const opened = widest.length ? widest.map(({ slot, gate }) => `${slotName(slot)} ${gate.toFixed(2)}`).join(", ") : "none";
  return `Sentence ${state.step}: ${sentence} Opened: ${opened}.`;
}

async function tell(text) {
  const parsed = await call("POST", "/stories/parse", { text });
  if (!parsed.sentences.length && !parsed.questions.length) return;
  const told = state.session.sentences.length;
  if (parsed.sentences.length) {
    const { read } = await state.session.read(parsed.sentences.join("\n"));
    const unknown = [...new Set(read.flatMap((item) => item.unknown))];
    const bound = read.flatMap((item) => item.bound ?? []).map(({ word, kind }) => `${word}: a ${kind}`);
    const notes = [...(bound.length ? [`New here: ${bound.join(", ")}.`] : []),
      ...(unknown.length ? [`Never seen in training, read as nothing: ${unknown.join(", ")}`] : [])];
    if (notes.length) notify(notes.join(" "));
  }
  state.answer = null;
  for (const question of state.questions) question.current = false;
  const asked = parsed.questions.map((item) => ({
    after: told + item.after, question: item.question, expected: item.answer, result: null, current: false,
  }));
  state.questions.push(...asked);
  await look(state.session.sentences.length);
  if (asked.length) await ask(asked.at(-1));
}

async function ask(question) {
  if (question.after !== state.step) moveTo(question.after);
  const answer = await state.session.ask(question.question, question.after);
  for (const other of state.questions) other.current = other === question;
  question.result = answer;
  state.answer = answer;
  state.expected = question.expected;
  find("question").value = question.question;
  drawStory();
  find("spoken").textContent = spokenAnswer(answer, state.trace.slots);
}

/** A typed question belongs to the moment shown; asked before at that moment, it is the same one. */
function typedQuestion(text) {
  const same = (q) => q.after === state.step && q.question.toLowerCase() === text.toLowerCase();
  const known = state.questions.find(same);
  if (known) return known;
  const question = { after: state.step, question: text, expected: "", result: null, current: false };
  state.questions.push(question);
  return question;
}

// Networks and fresh stories.

/** A network in one line: name, what it learned, how often it errs. */
function describe({ name, title, slots, test_error: error }) {
  const errs = error === null ? null : `${error.toFixed(1)}% errors`;
  return [name, title?.replaceAll("-", " ") ?? `${slots} slots`, errs].filter(Boolean).join(" · ");
}

const modelNamed = (name) => state.models.find((model) => model.name === name);

async function useModel(name) {
  if (processes.reads(name)) return processes.open(name);
  processes.show(false);
  const asked = state.questions.find((question) => question.current);
  const { step } = state;
  find("model").value = name;
  await openStory(name, state.session?.sentences ?? [], state.questions, step);
  const { task } = modelNamed(name);
  if (task && state.tasks.some((item) => item.task === task)) find("task").value = String(task);
  await showVocabulary(name);
  if (asked) await ask(state.questions.find((q) => q.after === asked.after && q.question === asked.question));
}

async function showVocabulary(name) {
  const { vocabulary, kinds } = await call("GET", `/models/${encodeURIComponent(name)}`);
  state.known = new Set(vocabulary);
  find("known-count").textContent = `(${vocabulary.length})`;
  const ofKind = new Set(kinds.flatMap(({ members }) => members));
  const groups = [...kinds, { name: kinds.length ? "other words" : "", members: vocabulary.filter((word) => !ofKind.has(word)) }];
  find("kinds-hint").hidden = kinds.length === 0;
  find("words").replaceChildren(...groups.map(({ name: kind, members }) => el("section", { "aria-label": kind || null },
    kind ? el("h3", {}, kind) : null,
    ...members.map((word) => el("button", { type: "button", onclick: () => addWord(word) }, word)))));
}

/** Who the story's new names are read as: each is bound once. */
function showNames(steps) {
  const bound = steps.flatMap((step) => step.bound ?? []);
  find("names").hidden = bound.length === 0;
  find("names").replaceChildren("New in this story: ", ...bound.flatMap(({ word, kind, member }, i) => [
    i ? ", " : "", el("b", {}, word), ` (${kind}, read as ${member})`]));
}

function addWord(word) {
  const box = find("sentence");
  box.value = `${box.value.trimEnd()} ${word}`.trimStart();
}

async function freshStory() {
  if (find("task").value === PROCESS) return openProcess();
  const task = Number(find("task").value);
  const model = modelFor(task);
  if (model !== find("model").value) {
    find("model").value = model;
    await showVocabulary(model);
    notify(`Changed to ${model}, which is trained for this kind of story.`);
  }
  await openFresh(model, await call("GET", `/tasks/${task}/story`));
}

/** From a kind of story to the networks that read processes; another network leads back to stories. */
async function openProcess() {
  const { name } = processes.models[0];
  await processes.open(name);
  find("model").value = name;
  find("task").value = String(modelNamed(state.session.model).task ?? state.tasks[0].task);
}

async function openFresh(model, story) {
  const questions = story.questions.map((item) => ({
    after: item.after, question: item.question, expected: item.answer,
  }));
  await openStory(model, story.sentences, questions);
  if (questions.length) await ask(state.questions.at(-1));
}

/** The chosen network if it is for this task or for many, else one that is for it. */
function modelFor(task) {
  const chosen = modelNamed(find("model").value);
  if (chosen.task === null || chosen.task === task) return chosen.name;
  const fitting = state.models.find((model) => model.task === task) ?? state.models.find((model) => model.task === null);
  return (fitting ?? chosen).name;
}

// Wiring.

function submit(form, action) {
  find(form).addEventListener("submit", (event) => { event.preventDefault(); action(); });
}

function editing(open) {
  find("editor").hidden = !open;
  find("frame").hidden = find("tell").hidden = open;
  find("edit").setAttribute("aria-expanded", String(open));
  if (open) {
    find("whole").value = storyText();
    find("whole").focus();
  }
}

function storyText() {
  const lines = [];
  const questions = (after) => state.questions.filter((q) => q.after === after)
    .map((q) => (q.expected ? `${q.question}\t${q.expected}` : q.question));
  lines.push(...questions(0));
  state.session.sentences.forEach((sentence, i) => lines.push(sentence, ...questions(i + 1)));
  return lines.join("\n");
}

async function readEdited() {
  const parsed = await call("POST", "/stories/parse", { text: find("whole").value });
  const questions = parsed.questions.map((item) => ({ after: item.after, question: item.question, expected: item.answer }));
  await openStory(state.session.model, parsed.sentences, questions);
  editing(false);
  if (questions.length) await ask(state.questions.at(-1));
}

async function undo() {
  await state.session.undo();
  const left = state.session.sentences.length;
  state.questions = state.questions.filter((question) => question.after <= left);
  state.answer = null;
  await look(left);
}

async function share() {
  const asked = state.questions.find((question) => question.current);
  const link = toLink({
    model: state.session.model, sentences: state.session.sentences, questions: state.questions,
    question: asked?.question, step: state.step,
  });
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    notify("The link is copied. The story is in the link itself.");
  } catch {
    find("link").value = link;
    find("link-dialog").showModal();
    find("link").select();
  }
}

function askKey() {
  const dialog = find("key-dialog");
  find("key").value = "";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "ok" ? find("key").value : null), { once: true });
  });
}

function wire() {
  for (const view of Object.values(views)) {
    view.addEventListener("step", (event) => soon(() => moveTo(event.detail.step)));
  }
  views.story.addEventListener("ask", (event) => soon(() => ask(event.detail.question)));
  submit("tell", () => {
    const text = find("sentence").value.trim();
    if (text) soon(async () => { await tell(text); find("sentence").value = ""; });
  });
  submit("ask", () => {
    const text = find("question").value.trim();
    if (text) soon(() => ask(typedQuestion(text)));
  });
  submit("editor", () => soon(readEdited));
  find("edit").addEventListener("click", () => editing(find("editor").hidden));
  find("cancel").addEventListener("click", () => editing(false));
  find("undo").addEventListener("click", () => soon(undo));
  find("clear").addEventListener("click", () => soon(() => openStory(state.session.model, [])));
  find("fresh").addEventListener("click", () => soon(freshStory));
  find("task").addEventListener("change", () => soon(freshStory));
  find("model").addEventListener("change", (event) => soon(() => useModel(event.target.value)));
  find("share").addEventListener("click", () => soon(share));
  find("theme").addEventListener("click", () => window.entnetTheme());
  find("sentence").addEventListener("paste", pasted);
  document.addEventListener("keydown", shortcut);
  window.addEventListener("hashchange", () => soon(openLink));
}

/** Several lines pasted where one sentence goes are a story: read at once. */
function pasted(event) {
  const text = event.clipboardData.getData("text");
  if (!text.trim().includes("\n")) return;
  event.preventDefault();
  soon(() => tell(text));
}

function shortcut(event) {
  if (processes.shown) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog, .cell")) return;
  const onButton = event.target.closest("button, summary, a");
  const { player } = views;
  const actions = {
    ArrowLeft: () => player.go(state.step - 1),
    ArrowRight: () => player.go(state.step + 1),
    Home: () => player.go(0),
    End: () => player.go(player.length),
    t: () => find("sentence").focus(),
    "/": () => find("question").focus(),
  };
  if (!onButton) actions[" "] = () => player.toggle();
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

// The beginning.

async function openLink() {
  const linked = fromLink();
  if (!linked) return false;
  const model = modelNamed(linked.model)?.name ?? find("model").value;
  find("model").value = model;
  await openStory(model, linked.sentences, linked.questions, linked.step);
  await showVocabulary(model);
  if (linked.question) await ask(typedQuestion(linked.question));
  return true;
}

async function begin() {
  const [known, tasks] = await Promise.all([call("GET", "/models"), call("GET", "/tasks"), processes.begin()]);
  state.models = known.models;
  state.tasks = tasks;
  find("model").replaceChildren(...known.models.map((model) =>
    el("option", { value: model.name }, describe(model))));
  find("model").value = known.default;
  find("task").replaceChildren(...tasks.map(({ task, name }) =>
    el("option", { value: task }, `${task} ${name.replaceAll("-", " ")}`)));
  offerProcesses();
  if (await openLink()) return;
  await showVocabulary(known.default);
  await firstStory(modelNamed(known.default));
}

/** Networks that read processes are among the networks, and a process is among the kinds of story. */
function offerProcesses() {
  if (!processes.models.length) return;
  const options = processes.models.map(({ name, title }) =>
    el("option", { value: name }, [name, title].filter(Boolean).join(" · ")));
  find("model").append(el("optgroup", { label: "read processes" }, ...options));
  find("task").append(el("option", { value: PROCESS }, `a process: ${processes.examples[0].name}`));
}

/** Something to look at: a fresh story if the network knows its words, else the example, else nothing. */
async function firstStory({ name, task }) {
  const first = state.tasks.find((item) => item.task === (task ?? 1));
  if (first) {
    find("task").value = String(first.task);
    const story = await call("GET", `/tasks/${first.task}/story`);
    if (knows(story.sentences)) return openFresh(name, story);
  }
  return openStory(name, knows(EXAMPLE) ? EXAMPLE : []);
}

function knows(sentences) {
  return sentences.every((sentence) => sentence.toLowerCase().split(/[\s.?!,]+/).every((word) => !word || state.known.has(word)));
}

onKeyNeeded(askKey);
wire();
soon(begin);
