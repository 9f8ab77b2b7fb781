// A new task, said in plain words.
import { html, useEffect, useMemo, useRef, useState } from "./dom.js";
import { ask } from "./api.js";
import { keep, kept } from "./keep.js";
import { go, route } from "./route.js";
import { computers, takeTask, tasks, tasksChanged } from "./store.js";
import { kindNames, kinds, readKinds } from "./kinddata.js";
import { Age, Field, Refusal, Tag } from "./parts.js";
import { firstLine } from "./words.js";

export function NewTask() {
  return html`<div class="title"><h1>New task</h1><p class="sum">Say what shall be done, as you would to a person. You can watch it, and it asks you if it has to.</p></div>
    <${TaskForm} /><${Recent} />`;
}

/** The form; the draft is kept until it was sent. */
export function TaskForm({ compact }) {
  const asked = route.value.query.computer;
  const [draft, setDraft] = useState(() => ({ prompt: "", kind: "", computer: "", interactive: true, every: "", cron: "", ...kept("draft", {}), ...(asked ? { computer: asked } : {}) }));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const key = useRef(null);
  useEffect(() => {
    if (!kinds.value) readKinds();
  }, []);
  const change = (fields) => {
    const next = { ...draft, ...fields };
    setDraft(next);
    keep("draft", next);
    // Another wish is another request; the same one sent twice is one task.
    key.current = null;
  };
  const send = async (event) => {
    event?.preventDefault();
    if (busy) return;
    if (!draft.prompt.trim()) return setProblem({ message: "Say first what shall be done.", field: "prompt" });
    key.current ??= crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    setBusy(true);
    setProblem(null);
    try {
      const task = await ask("POST", "/tasks", {
        prompt: draft.prompt, interactive: draft.interactive, idempotency_key: key.current,
        ...(draft.kind ? { kind: draft.kind } : {}), ...schedule(draft), ...(draft.computer ? { client_id: draft.computer } : {}),
      });
      takeTask(task);
      const next = { ...draft, prompt: "", every: "", cron: "" };
      setDraft(next);
      keep("draft", next);
      go(`#/chat/${task.task_id}`);
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  const typed = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  };
  const online = [...computers.value.values()].sort((a, b) => Number(b.online) - Number(a.online) || a.client_id.localeCompare(b.client_id, undefined, { numeric: true }));
  const wrong = (field) => (problem?.field === field ? [problem.message, problem.hint].filter(Boolean).join(". ") : "");
  return html`<form class="composer ${compact ? "compact" : ""}" onSubmit=${send}>
    <${Field} id="prompt" label=${compact ? "A new task" : "What shall be done?"} error=${wrong("prompt")} help="Enter sends it, Shift+Enter begins a new line.">${(props) => html`<textarea rows=${compact ? 2 : 4} value=${draft.prompt} onInput=${(event) => change({ prompt: event.target.value })} onKeyDown=${typed} placeholder="Look at /todo.lua, find out why 'list' fails, and mend it." ...${props}></textarea>`}<//>
    <div class="row-of">
      <${Field} id="kind" label="Kind" error=${wrong("kind")}>${(props) => html`<select value=${draft.kind} onChange=${(event) => change({ kind: event.target.value })} ...${props}><option value="">the default</option>${kindNames.value.filter((name) => name !== "call").map((name) => html`<option value=${name}>${name}</option>`)}</select>`}<//>
      <${Field} id="computer" label="Computer" error=${wrong("client_id")}>${(props) => html`<select value=${draft.computer} onChange=${(event) => change({ computer: event.target.value })} ...${props}><option value="">any that can</option>${online.map((one) => html`<option value=${one.client_id}>${one.label ?? one.client_id}${one.online ? "" : " (offline)"}</option>`)}${draft.computer && !computers.value.has(draft.computer) ? html`<option value=${draft.computer}>${draft.computer}</option>` : ""}</select>`}<//>
      <label class="check"><input type="checkbox" checked=${draft.interactive} onChange=${(event) => change({ interactive: event.target.checked })} /> it may ask as often as it likes</label>
      <button type="submit" class="primary" disabled=${busy} aria-busy=${busy ? "true" : undefined}>Start</button>
    </div>
    ${kindHelp(draft.kind)}
    ${compact ? "" : html`<details class="again" open=${Boolean(draft.every || draft.cron || wrong("schedule"))}><summary>Again and again</summary><div class="row-of">
      <${Field} id="every" label="Every … seconds" error=${wrong("schedule.every_s")}>${(props) => html`<input type="text" inputmode="numeric" value=${draft.every} onInput=${(event) => change({ every: event.target.value, cron: "" })} ...${props} />`}<//>
      <${Field} id="cron" label="or at (cron)" error=${wrong("schedule.cron")}>${(props) => html`<input type="text" value=${draft.cron} placeholder="0 8 * * 1" onInput=${(event) => change({ cron: event.target.value, every: "" })} ...${props} />`}<//>
    </div></details>`}
    ${problem && !["prompt", "kind", "client_id", "schedule.every_s", "schedule.cron"].includes(problem.field) ? html`<${Refusal} problem=${problem} />` : ""}
  </form>`;
}

function schedule({ every, cron }) {
  if (cron.trim()) return { schedule: { cron: cron.trim() } };
  const seconds = Number(every);
  return every.trim() ? { schedule: { every_s: Number.isFinite(seconds) ? seconds : every } } : {};
}

function kindHelp(name) {
  const kind = kinds.value?.find((one) => one.kind === name);
  return kind ? html`<p class="help">${kind.description}</p>` : "";
}

function Recent() {
  tasksChanged.value;
  const list = useMemo(() => [...tasks.values()].filter((task) => task.kind !== "call").sort((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, 8), [tasksChanged.value]);
  if (!list.length) return "";
  return html`<section aria-labelledby="recent"><h2 id="recent">Lately</h2><ul class="recent">${list.map((task) => html`<li key=${task.task_id}><a href="#/chat/${task.task_id}">${firstLine(task.prompt)}</a> <${Tag} of="task" state=${task.status} /> <span class="dim"><${Age} at=${task.created_at} /></span></li>`)}</ul></section>`;
}
