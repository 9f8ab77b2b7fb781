// The timeline of a task, oldest first: what models were asked and said, what was called, what was held back.
import { html, useEffect, useRef, useState } from "./dom.js";
import { stream } from "./store.js";
import { Age, Code, More, Refusal, Tag } from "./parts.js";
import { argsLine, brief, clock, count, duration, firstLine, plain } from "./words.js";
import { succeeded } from "./journal.js";

/** Entries that are shown at first; older ones on demand. */
const SHOWN = 150;

const WAITS = {
  computer_offline: "waits: its computer is offline", model: "waits for a model", approval: "waits for consent", answer: "waits for an answer",
  schedule: "waits for its time", event: "waits for an event", stopped: "waits: the fleet or its computer is stopped",
};

/**
 * The journal and its entries change in place, so each is given along with a number that changes with it: a part with state
 * of its own is drawn again only when something that it is given is another.
 */
export function Timeline({ id, journal, last, ended, steps }) {
  const [shown, show] = useState(SHOWN);
  const { entries } = journal;
  const from = Math.max(0, entries.length - shown);
  const end = useRef();
  const follows = useRef(false);
  useEffect(() => {
    const watch = new IntersectionObserver(([seen]) => {
      follows.current = seen.isIntersecting;
    });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, []);
  // Who reads at the end stays there; who reads above is left alone.
  useEffect(() => {
    if (follows.current && !ended) end.current.scrollIntoView({ block: "end" });
  }, [last]);
  return html`
    ${from > 0 ? html`<p><button type="button" onClick=${() => show(shown + SHOWN)}>Show earlier (${from} more)</button></p>` : ""}
    <ol class="timeline" aria-label="What happened">${entries.slice(from).map((entry) => html`<li key=${entry.key} class="entry ${entry.type} ${entry.state ?? ""}"><${Entry} id=${id} entry=${entry} changed=${entry.changed} steps=${steps} /></li>`)}</ol>
    <p class="end" ref=${end}>${ended ? "" : html`<span class="dim">The task goes on…</span>`}</p>`;
}

function Entry({ id, entry, changed, steps }) {
  const body = { consult: Consult, call: Call, question: Question, guard: Guard, wait: Wait, note: Note, mark: Mark, end: End }[entry.type];
  return html`<time class="at" datetime=${entry.at}>${clock(entry.at)}</time><div class="body">${entry.track ? html`<span class="track">step ${entry.track} of the plan</span> ` : ""}<${body} id=${id} entry=${entry} changed=${changed} steps=${steps} /></div>`;
}

const CONTRACTS = {
  directive: "for the next directive", strict_request: "for a strict request", repair: "to mend its answer", turn: "for its next turn", list: "for a numbered plan",
  react: "for its next turn", goals: "to break the goal down", subtask: "for its next action", plan: "for a plan", step_calls: "for calls of a step",
  step_words: "to think a step through", review: "to look at the results",
};

function Consult({ id, entry, steps }) {
  const { role, contract, answer, failure } = entry;
  const words = typeof contract === "string" ? CONTRACTS[contract] : "to sum up";
  return html`
    <h3><span class="who">${role}</span> asked ${words ?? ""}
      ${answer ? html` <span class="dim">${answer.model} · ${duration(answer.duration_ms)}${answer.usage?.tokens_in !== undefined ? ` · ${count(answer.usage.tokens_in)} → ${count(answer.usage.tokens_out)} tokens` : ""}${answer.stop === "length" ? " · cut off at its length limit" : ""}</span>` : failure ? html` <${Tag} of="call" state="failed" />` : html` <span class="dim">thinking for <${Age} at=${entry.at} /></span>`}</h3>
    ${failure ? html`<p class="bad-text">${failure.message ?? failure.error ?? failure.code} <code>${failure.code}</code></p>` : ""}
    ${!answer && !failure ? html`<${Live} id=${id} consult=${entry.seq} />` : ""}
    ${entry.reading ? html`<${Directive} reading=${entry.reading} />` : ""}
    ${entry.read ? html`<${ReadOut} read=${entry.read} />` : ""}
    ${entry.problems?.length ? html`<ul class="problems">${entry.problems.map((one) => html`<li>${one}</li>`)}</ul>` : ""}
    <div class="mores">
      ${answer?.thinking ? html`<${More} summary="Thinking"><${Code} value=${answer.thinking} label="thinking" /><//>` : ""}
      ${answer ? html`<${More} summary="Answer in full"><${Code} value=${answer.content || "(no words)"} label="answer" />${answer.tool_calls?.length ? html`<${Code} value=${answer.tool_calls} label="tool calls" />` : ""}<//>` : ""}
      <${More} summary="Prompt in full" onOpen=${() => steps.load()}>${() => html`<${Prompt} entry=${entry} steps=${steps} />`}<//>
    </div>`;
}

/** Tokens as they come. Provisional: the journal's answer takes their place. */
function Live({ id, consult }) {
  const { text, thinking } = stream(id, consult).value;
  if (!text && !thinking) return "";
  return html`<div class="live">${thinking ? html`<pre class="thinking" aria-label="thinking, as it comes">${thinking}</pre>` : ""}${text ? html`<pre aria-label="answer, as it comes">${text}<span class="caret" aria-hidden="true"></span></pre>` : ""}</div>`;
}

function Prompt({ entry, steps }) {
  if (steps.problem) return html`<${Refusal} problem=${steps.problem} />`;
  if (!steps.items) return html`<p class="loading">Reading…</p>`;
  const step = steps.items.filter((one) => one.begun_at <= entry.seq).at(-1);
  if (!step) return html`<p class="help">The journal holds no prompt of this step any more.</p>`;
  const text = entry.role === "planner" ? step.planner_input : (step.executor_input ?? entry.tail);
  return html`<p class="dim">step ${step.step}</p><${Code} value=${text ?? entry.tail ?? "(none)"} label="prompt" />`;
}

function Directive({ reading }) {
  if (reading.reading !== "clear") return html`<p class="bad-text">${reading.reading === "unclear" ? "An unclear directive" : "No directive"}: ${reading.problems.join("; ")}</p>${reading.text ? html`<pre class="directive">${reading.text}</pre>` : ""}`;
  const { directive: word, on, ...fields } = reading.directive;
  return html`<div class="directive"><p><strong>${word}</strong>${on ? html` <span class="dim">on ${on}</span>` : ""}</p>
    <dl>${Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && !value.length)).map(([name, value]) => html`<dt>${plain(name)}</dt><dd>${typeof value === "string" && value.includes("\n") ? html`<${More} summary=${`${value.split("\n").length} lines`}><${Code} value=${value} label=${name} /><//>` : typeof value === "string" ? value : html`<code>${brief(value, 300)}</code>`}</dd>`)}</dl></div>`;
}

function ReadOut({ read }) {
  const lines = {
    turn: () => read.calls?.length ? `calls ${read.calls.map((call) => call.name).join(", ")}` : firstLine(read.text),
    list: () => `a plan of ${read.items?.length ?? 0} items`,
    react: () => [read.thought, read.next?.move === "act" ? `→ ${read.next.tool} ${argsLine(read.next.args)}` : read.next?.text].filter(Boolean).join(" "),
    goals: () => `${read.objectives?.length ?? 0} objectives`,
    plan: () => read.plan ? `a plan of ${read.plan.steps.length} steps: ${read.plan.goal}` : "",
    step: () => read.calls ? read.calls.map((call) => `${call.tool} ${argsLine(call.args)}`).join("; ") : (read.text ?? (read.missing ? `unclear: ${read.missing.join("; ")}` : "")),
    review: () => read.review ? read.review.message : "",
    summary: () => `${read.facts?.length ?? 0} facts`,
  };
  const text = lines[read.read]?.();
  return html`${text ? html`<p class="said">${text}</p>` : ""}${read.problems?.length ? html`<ul class="problems">${read.problems.map((one) => html`<li>${one}</li>`)}</ul>` : ""}`;
}

function Call({ entry }) {
  const { report, no_route: away } = entry;
  const denied = report && report.outcome === "done" && !succeeded(report);
  return html`
    <h3><${Tag} of="call" state=${entry.state} more=${denied ? "the tool says it failed" : ""} /> <code class="tool">${entry.tool}</code>
      <span class="dim">${entry.client_id ? ` on ${entry.client_id}` : ""}${entry.effect ? ` · ${entry.effect}${entry.call_seq ? ` #${entry.call_seq}` : ""}` : ""}${report?.duration_ms !== undefined && report?.duration_ms !== null ? ` · ${duration(report.duration_ms)}` : ""}${entry.by === "model" ? " · translated by the executor model" : ""}</span></h3>
    ${entry.explanation ? html`<p>${entry.explanation}</p>` : ""}
    <p class="args"><code>${argsLine(entry.args)}</code></p>
    ${report?.error ? html`<p class="bad-text">${report.error}${report.code ? html` <code>${report.code}</code>` : ""}</p>` : ""}
    ${away ? html`<p class="bad-text">${away.message} <code>${away.reason}</code></p>` : ""}
    ${report?.result !== undefined && report?.result !== null ? html`<p class="result"><code>${brief(report.result, 200)}</code></p>` : ""}
    <div class="mores">
      <${More} summary="Arguments in full"><${Code} value=${entry.args} label="arguments" /><//>
      ${report?.result !== undefined && report?.result !== null ? html`<${More} summary="Result in full${report.truncated ? " (cut by the computer)" : ""}"><${Code} value=${report.result} label="result" /><//>` : ""}
    </div>`;
}

function Question({ entry }) {
  return html`
    <h3>${entry.approval ? "Asks for consent" : "Asks"} ${entry.answer === undefined && !entry.expired_at ? html`<${Tag} of="task" state="waiting_for_user" />` : ""}</h3>
    <p>${entry.question}</p>${entry.why ? html`<p class="dim">Why: ${entry.why}</p>` : ""}
    ${entry.approval ? html`<ul class="lines">${entry.approval.calls.map((call) => html`<li><code>${call.tool}</code> <code>${argsLine(call.args)}</code></li>`)}</ul>` : ""}
    ${entry.answer !== undefined ? html`<p><strong>${entry.answer}</strong> <span class="dim">said ${entry.by}${entry.authenticated ? "" : ", who did not prove who they are"}</span></p>` : entry.expired_at ? html`<p class="dim">Nobody answered in time.</p>` : ""}`;
}

const Guard = ({ entry }) => html`<h3><${Tag} of="call" state="blocked" /> held back: ${plain(entry.guard)}</h3><p class="pre">${entry.evidence}</p>`;
const Wait = ({ entry }) => html`<p>${WAITS[entry.reason] ?? plain(entry.reason)} <span class="dim">${entry.ended_at ? `for ${duration(Date.parse(entry.ended_at) - Date.parse(entry.at))}` : ""}</span></p>`;
const Note = ({ entry }) => html`<p><code>${entry.code}</code> ${entry.message}</p>`;
const Mark = ({ entry }) => html`<p>${entry.text}${entry.task ? html` <a href="#/tasks/${entry.task}">See it</a>` : ""}</p>`;
const End = ({ entry }) => html`<p><${Tag} of="task" state=${entry.status} /> ${entry.message}</p>`;
