// The list of tasks.
import { html, useEffect, useMemo, useRef } from "./dom.js";
import { computers, resets, tasksChanged } from "./store.js";
import { kindNames } from "./kinddata.js";
import { Age, Empty, Progress, Refusal, Tag } from "./parts.js";
import { Table } from "./virtual.js";
import { TaskList } from "./tasklist.js";
import { ENDED, firstLine, plain, STATUSES } from "./words.js";
import { route, setQuery } from "./route.js";

const COLUMNS = ["Task", "Status", "Kind", "Computer", "Step", "Progress", "Doing", "Owner", "Age"];
/** The last list, so that a way back from a task finds everything where it was. */
let last = { key: null, list: null };

function listFor(filter) {
  const key = JSON.stringify(filter);
  if (last.key !== key) last = { key, list: new TaskList(filter) };
  return last.list;
}

export function Tasks() {
  const { q = "", status = "", kind = "", computer = "" } = route.value.query;
  const list = listFor({ q, status, kind, computer });
  const reset = useRef(resets.value);
  useEffect(() => {
    if (!list.ids.length) list.more();
  }, [list]);
  useEffect(() => {
    if (reset.current !== resets.value) list.again();
    reset.current = resets.value;
  }, [resets.value, list]);
  const version = `${tasksChanged.value} ${list.changed.value}`;
  const shown = useMemo(() => list.shown(), [list, version]);
  const at = useMemo(() => new Map(shown.map((task, place) => [task.task_id, place])), [shown]);
  const filtered = q || status || kind || computer;
  const row = (place) => {
    const task = shown[place];
    return {
      key: task.task_id,
      href: `#/tasks/${task.task_id}`,
      label: `${firstLine(task.prompt)}, ${plain(task.status)}`,
      cells: [
        firstLine(task.prompt),
        html`<${Tag} of="task" state=${task.status} more=${task.wait_reason} />`,
        task.kind,
        task.client_id ?? "",
        task.step,
        html`<${Progress} value=${ENDED.has(task.status) ? undefined : task.progress} />`,
        html`<span class="doing">${firstLine(task.error ?? task.result?.message ?? task.message)}</span>`,
        task.owner,
        html`<${Age} at=${task.created_at} />`,
      ],
    };
  };
  return html`
    <div class="title"><h1>Tasks</h1><p class="sum" role="status">${list.busy ? "reading…" : `${shown.length}${list.complete ? "" : "+"} shown${q && !list.complete ? `, ${list.ids.length} searched` : ""}`}</p>
      <div class="buttons"><a class="button primary" href="#/new">New task</a></div></div>
    <div class="filters" role="search">
      <label>Find <input type="search" value=${q} placeholder="words, id, owner" onInput=${(event) => setQuery({ q: event.target.value })} /></label>
      <label>Status <select value=${status} onChange=${(event) => setQuery({ status: event.target.value })}><option value="">any</option>${STATUSES.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label>
      <label>Kind <select value=${kind} onChange=${(event) => setQuery({ kind: event.target.value })}><option value="">any</option>${kindNames.value.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
      <label>Computer <select value=${computer} onChange=${(event) => setQuery({ computer: event.target.value })}><option value="">any</option>${[...new Set([...computers.value.keys(), ...(computer ? [computer] : [])])].sort().map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
    </div>
    <${Refusal} problem=${list.problem.value} />
    ${shown.length || list.busy || !list.complete ? html`<${Table} name="tasks" label="Tasks" columns=${COLUMNS} count=${shown.length} row=${row} more=${() => list.more()} busy=${list.busy} anchorKey=${(key) => at.get(key) ?? 0} />`
      : html`<${Empty} title=${filtered ? "No task fits the filter" : "No tasks yet"}>${filtered
        ? html`<p><button type="button" onClick=${() => setQuery({ q: "", status: "", kind: "", computer: "" })}>Take the filters away</button></p>`
        : html`<p>Say in plain words what shall be done, and watch it being done.</p><p><a class="button primary" href="#/new">Start the first task</a></p>`}<//>`}`;
}
