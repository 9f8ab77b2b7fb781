// One task: how it stands, what it asks, its plan, and its timeline.
import { html, useMemo, useState } from "./dom.js";
import { get, post } from "./api.js";
import { go } from "./route.js";
import { tasksChanged } from "./store.js";
import { Action, Age, Code, Dialog, Field, More, Progress, Refusal, Tag, notice } from "./parts.js";
import { Answering } from "./answer.js";
import { Plan } from "./plan.js";
import { Timeline } from "./timeline.js";
import { useTask } from "./watch.js";
import { ENDED, count, firstLine, moment, plain, several } from "./words.js";

export function Task({ id }) {
  tasksChanged.value;
  const { task, journal, read, problem } = useTask(id);
  const steps = useSteps(id, journal);
  if (problem && !task) return html`<h1>Task</h1><${Refusal} problem=${problem} /><p><a href="#/tasks">All tasks</a></p>`;
  if (!task) return html`<h1>Task</h1><p class="loading">Reading the task…</p>`;
  const ended = ENDED.has(task.status);
  return html`
    <p class="crumbs"><a href="#/tasks">Tasks</a> / <span>${id}</span></p>
    <div class="title"><h1>${firstLine(task.prompt)}</h1>
      <p class="sum"><${Tag} of="task" state=${task.status} more=${task.wait_reason} /> <${Progress} value=${ended ? undefined : task.progress} /></p>
      <${Buttons} task=${task} steps=${steps} ended=${ended} /></div>
    <${Outcome} task=${task} />
    ${journal.openQuestions().map((question) => html`<${Answering} key=${question.question_id} question=${question} />`)}
    <div class="columns">
      <div class="side">
        <${Plan} books=${journal.books} ended=${ended} />
        <${Facts} task=${task} />
      </div>
      <section class="main" aria-labelledby="timeline-title"><h2 id="timeline-title">Timeline</h2>
        ${read || journal.last ? html`<${Timeline} id=${id} journal=${journal} last=${journal.last} ended=${ended} steps=${steps} />` : html`<p class="loading">Reading the journal…</p>`}
      </section>
    </div>`;
}

/** How it ended, or why it stands still: the first thing that people look for. */
function Outcome({ task }) {
  const { result, error, details, quarantine } = task;
  if (quarantine) return html`<section class="outcome bad" aria-label="Result"><h2>Not run</h2><p>${quarantine}</p></section>`;
  if (result) {
    return html`<section class="outcome ${result.success ? "ok" : "bad"}" aria-label="Result"><h2>${result.success ? "Done" : "Ended without success"}</h2><p class="pre">${result.message}</p>
      ${(result.details?.doubts ?? []).map((doubt) => html`<p class="doubt"><strong>Not confirmed:</strong> ${doubt}</p>`)}
      ${result.details && Object.keys(result.details).length ? html`<${More} summary="Details"><${Code} value=${result.details} label="details" /><//>` : ""}</section>`;
  }
  if (error) {
    return html`<section class="outcome bad" aria-label="Result"><h2>Failed</h2><p class="pre">${error}</p>${details ? html`<${More} summary="Details"><${Code} value=${details} label="details" /><//>` : ""}</section>`;
  }
  if (task.status === "cancelled") return html`<section class="outcome idle" aria-label="Result"><h2>Cancelled</h2>${task.sealed ? "" : html`<p>${several(task.open_calls, "call")} not settled yet.</p>`}</section>`;
  return task.message ? html`<p class="doing-now" role="status"><span class="dim">Now:</span> ${task.message}</p>` : "";
}

function Facts({ task }) {
  const { usage: u } = task;
  const rest = task.prompt.trim().includes("\n");
  return html`<section class="panel" aria-labelledby="facts-title"><h2 id="facts-title">Facts</h2>
    <dl class="facts">
      <dt>Kind</dt><dd>${task.kind} <span class="dim">(${task.strategy})</span></dd>
      <dt>Computer</dt><dd>${task.client_id ?? "any"}</dd>
      <dt>Owner</dt><dd>${task.owner}</dd>
      <dt>Began</dt><dd>${moment(task.created_at)}, <${Age} at=${task.created_at} /> ago</dd>
      <dt>Changed</dt><dd><${Age} at=${task.updated_at} /> ago</dd>
      ${task.episode ? html`<dt>Episode</dt><dd>${task.episode}</dd>` : ""}
      ${task.wakes_at ? html`<dt>Wakes</dt><dd>${moment(task.wakes_at)}</dd>` : ""}
      ${task.parent ? html`<dt>Part of</dt><dd><a href="#/tasks/${task.parent}">${task.parent}</a></dd>` : ""}
      ${task.forked_from ? html`<dt>Fork of</dt><dd><a href="#/tasks/${task.forked_from}">${task.forked_from}</a>, step ${task.forked_at_step}</dd>` : ""}
      <dt>Used</dt><dd>${several(u.steps, "step")}, ${several(u.calls, "call")}, ${several(u.model_calls, "model call")}, ${several(u.questions, "question")}</dd>
      <dt>Tokens</dt><dd>${count(u.tokens_in)} in${u.tokens_cached ? ` (${count(u.tokens_cached)} cached)` : ""}, ${count(u.tokens_out)} out</dd>
    </dl>
    ${rest ? html`<${More} summary="The whole prompt"><${Code} value=${task.prompt} label="prompt" /><//>` : ""}
    ${Object.keys(task.metadata ?? {}).length ? html`<${More} summary="Metadata"><${Code} value=${task.metadata} label="metadata" /><//>` : ""}
  </section>`;
}

/** The step log: read when somebody wants a prompt or a fork, and again when steps were added. */
function useSteps(id, journal) {
  const [held, hold] = useState({ upto: 0, items: null, problem: null });
  return useMemo(() => ({
    items: held.items,
    problem: held.problem,
    async load() {
      if (held.items && held.upto === journal.last) return held.items;
      const upto = journal.last;
      try {
        const all = await get(`/tasks/${id}/steps`);
        hold({ upto, items: all.items, problem: null });
        return all.items;
      } catch (problem) {
        hold({ upto: 0, items: held.items, problem });
        return held.items ?? [];
      }
    },
  }), [held, id, journal]);
}

function Buttons({ task, steps, ended }) {
  const [dialog, setDialog] = useState(null);
  const id = task.task_id;
  const close = () => setDialog(null);
  return html`<div class="buttons">
    ${task.kind === "call" ? "" : html`<a class="button" href="#/chat/${id}">Conversation</a>`}
    ${ended ? "" : html`<button type="button" class="danger" onClick=${() => setDialog("cancel")}>Cancel</button>`}
    ${task.status === "sleeping" ? html`<${Action} onClick=${async () => { await post(`/tasks/${id}/wake`); notice("It was woken."); }}>Wake<//>` : ""}
    ${task.kind === "call" || !task.step ? "" : html`<button type="button" onClick=${() => { steps.load(); setDialog("fork"); }}>Fork</button>`}
    ${dialog === "cancel" ? html`<${Cancel} id=${id} onClose=${close} />` : ""}
    ${dialog === "fork" ? html`<${Fork} task=${task} steps=${steps} onClose=${close} />` : ""}
  </div>`;
}

function Cancel({ id, onClose }) {
  const [reason, setReason] = useState("");
  const send = async () => {
    await post(`/tasks/${id}/cancel`, reason.trim() ? { reason: reason.trim() } : {});
    notice("The task is cancelled.");
    onClose();
  };
  return html`<${Dialog} title="Cancel this task?" onClose=${onClose}>
    <p>Calls that are running are told to stop. Tasks that it started are cancelled with it. What was done stays done.</p>
    <${Field} id="reason" label="Reason (may be empty)">${(props) => html`<input value=${reason} onInput=${(event) => setReason(event.target.value)} ...${props} />`}<//>
    <div class="buttons"><${Action} className="danger" onClick=${send}>Cancel the task<//><button type="button" onClick=${onClose}>Leave it running</button></div>
  <//>`;
}

function Fork({ task, steps, onClose }) {
  const [at, setAt] = useState("");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState(null);
  const items = steps.items ?? [];
  const send = async () => {
    try {
      const made = await post(`/tasks/${task.task_id}/fork`, { at: Number(at), ...(model.trim() ? { model: model.trim() } : {}) });
      onClose();
      notice("A new task goes on from there.");
      go(`#/tasks/${made.task_id}`);
    } catch (refused) {
      setProblem(refused);
    }
  };
  const places = problem?.body?.steps;
  return html`<${Dialog} title="Fork this task" onClose=${onClose}>
    <p>A new task knows everything up to the step that you choose, and goes on from there. This one stays as it is.</p>
    ${steps.items || steps.problem ? "" : html`<p class="loading">Reading the steps…</p>`}
    <${Refusal} problem=${steps.problem ?? problem} />
    ${places ? html`<p class="help">It can go on behind ${places.join(", ") || "none of its steps"}.</p>` : ""}
    <${Field} id="fork-at" label="Behind step">${(props) => html`<select value=${at} onChange=${(event) => setAt(event.target.value)} ...${props}><option value="">choose</option>${items.map((step) => html`<option value=${step.step}>${step.step}: ${stepWords(step)}</option>`)}</select>`}<//>
    <${Field} id="fork-model" label="Model (empty: the same)">${(props) => html`<input value=${model} onInput=${(event) => setModel(event.target.value)} ...${props} />`}<//>
    <div class="buttons"><${Action} className="primary" disabled=${!at} onClick=${send}>Fork<//><button type="button" onClick=${onClose}>Close</button></div>
  <//>`;
}

function stepWords(step) {
  if (step.calls.length) return step.calls.map((call) => call.tool).join(", ");
  if (step.question) return "asks";
  return step.sent_back ? `sent back (${plain(step.sent_back.guard)})` : firstLine(step.executor_input ?? step.planner_output).slice(0, 60);
}

