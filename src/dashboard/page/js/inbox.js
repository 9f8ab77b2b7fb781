// Everything that waits for a person.
import { html } from "./dom.js";
import { get } from "./api.js";
import { questions, takeTask, tasks, tasksChanged } from "./store.js";
import { Answering } from "./answer.js";
import { Empty } from "./parts.js";
import { brief, firstLine } from "./words.js";

const sought = new Set();

/** What the task is about; read if it was not seen yet. */
function taskWords(id) {
  const task = tasks.get(id);
  if (!task && !sought.has(id)) {
    sought.add(id);
    get(`/tasks/${id}`).then(takeTask, () => sought.delete(id));
  }
  return task ? brief(firstLine(task.prompt), 90) : id;
}

export function Inbox() {
  tasksChanged.value;
  const list = questions.value;
  if (!list) return html`<h1>Inbox</h1><p class="loading">Reading the questions…</p>`;
  const [consents, asked] = [list.filter((one) => one.approval), list.filter((one) => !one.approval)];
  return html`<div class="title"><h1>Inbox</h1><p class="sum">Questions of tasks, and calls that need your consent. A task waits until somebody answers or its time is over.</p></div>
    ${list.length ? "" : html`<${Empty} title="Nothing waits for you"><p>When a task asks something, it stands here, and the number of questions stands in the title of this page.</p><//>`}
    ${consents.length ? html`<section aria-labelledby="consents"><h2 id="consents">Consent</h2>${consents.map((one) => html`<${Answering} key=${one.question_id} question=${one} task=${taskWords(one.task_id)} />`)}</section>` : ""}
    ${asked.length ? html`<section aria-labelledby="questions"><h2 id="questions">Questions</h2>${asked.map((one) => html`<${Answering} key=${one.question_id} question=${one} task=${taskWords(one.task_id)} />`)}</section>` : ""}`;
}
