// Answering a question, and consenting to calls.
import { html, useState } from "./dom.js";
import { enc, post, signInAsked, token } from "./api.js";
import { keep, kept } from "./keep.js";
import { Code, More, Refusal, notice } from "./parts.js";
import { readQuestions } from "./store.js";

/** One open question, wherever it is shown. Its draft is kept by its id. */
export function Answering({ question, task }) {
  return question.approval ? html`<${Consent} question=${question} task=${task} />` : html`<${Reply} question=${question} task=${task} />`;
}

const Where = ({ question, task }) => (task ? html`<p class="dim">of <a href="#/tasks/${question.task_id}">${task}</a></p>` : "");

function Reply({ question, task }) {
  const id = question.question_id;
  const [text, setText] = useState(kept(`answer.${id}`, ""));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const type = (event) => {
    setText(event.target.value);
    keep(`answer.${id}`, event.target.value);
  };
  const give = async (answer) => {
    setBusy(true);
    try {
      await post(`/questions/${enc(id)}/answer`, { answer });
      keep(`answer.${id}`, "");
      notice("The answer is given.");
      readQuestions();
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  const send = (event) => {
    event.preventDefault();
    if (text.trim()) give(text.trim());
  };
  return html`<section class="asked" aria-label="Question"><${Where} question=${question} task=${task} />
    <p class="question">${question.question}</p>${question.why ? html`<p class="dim">Why: ${question.why}</p>` : ""}
    <form onSubmit=${send}>
      ${question.options?.length ? html`<div class="buttons">${question.options.map((option) => html`<button type="button" disabled=${busy} onClick=${() => give(option)}>${option}</button>`)}</div>` : ""}
      <label class="unseen" for="answer-${id}">Answer to: ${question.question}</label>
      <div class="entry-line"><input id="answer-${id}" value=${text} onInput=${type} placeholder="Your answer" autocomplete="off" /><button type="submit" class="primary" disabled=${busy}>Answer</button></div>
      <${Refusal} problem=${problem} />
    </form></section>`;
}

function Consent({ question, task }) {
  const id = question.question_id;
  const [note, setNote] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const decide = async (allow) => {
    if (!token.value) {
      signInAsked.value = { why: "Consent needs somebody who shows who they are.", then: () => decide(allow) };
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      await consent(id, allow, note.trim());
      notice(allow ? "Allowed." : "Denied.");
      readQuestions();
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return html`<section class="asked consent" aria-label="Consent"><${Where} question=${question} task=${task} />
    <p class="question">${question.approval.calls.length === 1 ? "This call needs your consent" : "These calls need your consent"}</p>
    <p class="dim">${question.approval.reason ?? question.why}</p>
    ${question.approval.calls.map((call) => html`<div class="call"><p><code class="tool">${call.tool}</code> <span class="dim">${where(call.target)}</span></p><${More} summary="Arguments" open><${Code} value=${call.args} label="arguments" /><//></div>`)}
    <label class="unseen" for="note-${id}">Note for the task</label>
    <div class="entry-line"><input id="note-${id}" value=${note} onInput=${(event) => setNote(event.target.value)} placeholder="Note for the task (may be empty)" autocomplete="off" />
      <button type="button" class="primary" disabled=${busy} onClick=${() => decide(true)}>Allow</button><button type="button" class="danger" disabled=${busy} onClick=${() => decide(false)}>Deny</button></div>
    <${Refusal} problem=${problem} /></section>`;
}

function where(target) {
  if (target?.computer) return `on ${target.computer}`;
  return target?.group ? `on any of group ${target.group}` : "on its own computer";
}

async function consent(id, allow, note) {
  return post(`/approvals/${enc(id)}`, { allow, ...(note ? { note } : {}) });
}
