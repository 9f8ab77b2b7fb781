// The plan of a task, with its cursor.
import { html } from "./dom.js";
import { Tag } from "./parts.js";
import { brief, plain } from "./words.js";

const MADE_BY = { rules: "made by a rule, after the model's tries had failed", template: "a ready plan of this kind" };

export function Plan({ books, ended }) {
  if (!books.kind) return "";
  const body = { list: List, goals: Goals, plan: Steps, words: Words }[books.kind];
  return html`<section class="panel plan" aria-labelledby="plan-title"><h2 id="plan-title">Plan</h2>
    ${MADE_BY[books.by] ? html`<p class="help">${MADE_BY[books.by]}</p>` : ""}
    <${body} books=${books} ended=${ended} />
  </section>`;
}

const Item = ({ state, current, children }) => html`<li class=${current ? "current" : ""} aria-current=${current ? "step" : undefined}><${Tag} of="plan" state=${current ? "current" : state} /> <span class="what">${children}</span></li>`;

function List({ books, ended }) {
  return html`<ol>${books.items.map((item, at) => html`<${Item} key=${at} state=${item.state} current=${!ended && at === books.cursor}>${item.text}<//>`)}</ol>`;
}

function Goals({ books, ended }) {
  let found = ended;
  return html`<ol class="goals">${books.objectives.map((objective, at) => html`<li key=${at}><strong>${objective.text}</strong><ol>${objective.subtasks.map((task, place) => {
    const current = !found && task.state === "open";
    found ||= current;
    return html`<${Item} key=${place} state=${task.state} current=${current}>${task.text}${task.tool ? html` <code>${task.tool}</code>` : ""}${task.on ? html` <span class="dim">on ${task.on}</span>` : ""}${task.reason ? html`<br /><span class="dim">${brief(task.reason, 200)}</span>` : ""}<//>`;
  })}</ol></li>`)}</ol>`;
}

function Steps({ books }) {
  return html`<p>${books.goal}</p><ol class="steps">${books.steps.map((step) => html`<li key=${step.id} value=${step.id} class=${step.state === "running" ? "current" : ""} aria-current=${step.state === "running" ? "step" : undefined}>
    <${Tag} of="plan" state=${step.state} /> <span class="what"><strong>${plain(typeof step.action === "string" ? step.action : (step.action?.other ?? ""))}</strong> ${step.target ? html`<code>${step.target}</code>` : ""}${step.on ? html` <span class="dim">on ${step.on}</span>` : ""}<br /><span class="dim">${step.reason}${step.depends_on?.length ? ` · after ${step.depends_on.join(", ")}` : ""}${step.because ? ` · because step ${step.because} failed` : ""}${step.from ? ` · taken from step ${step.from}` : ""}</span>${step.error ? html`<br /><span class="bad-text">${step.error}</span>` : ""}</span></li>`)}</ol>
  ${books.review ? html`<p><strong>Review: ${books.review.achieved ? "achieved" : "not achieved"}.</strong> ${books.review.message}</p>` : ""}`;
}

const Words = ({ books }) => html`<pre class="words">${books.words}</pre>`;
