// The command log of the whole fleet, newest first.
import { html, useEffect, useState } from "./dom.js";
import { get } from "./api.js";
import { commands, commandsChanged, takeCommand } from "./store.js";
import { Age, Dialog, Code, Empty, Tag } from "./parts.js";
import { Table } from "./virtual.js";
import { argsLine, brief, duration, moment, plain } from "./words.js";
import { route, setQuery } from "./route.js";

const COLUMNS = ["Command", "Outcome", "Computer", "Arguments", "Took", "Age"];
let filled = false;

/** The calls of the latest tasks, for a page that was opened just now. */
async function fill() {
  if (filled) return;
  filled = true;
  try {
    const latest = await get("/tasks?limit=30");
    const journals = await Promise.all(latest.items.filter((task) => task.usage.calls).map((task) => get(`/tasks/${task.task_id}/events?limit=200`)));
    const events = journals.flatMap((page) => page.items);
    events.sort((a, b) => a.at.localeCompare(b.at)).forEach(takeCommand);
    commands.sort((a, b) => a.at.localeCompare(b.at));
  } catch {
    filled = false;
  }
}

export function Commands() {
  commandsChanged.value;
  const [shown, show] = useState(null);
  useEffect(() => void fill(), []);
  const { q = "", outcome = "" } = route.value.query;
  const text = q.toLowerCase();
  const list = commands.filter((one) => (!outcome || one.state === outcome) && (!text || `${one.tool} ${one.client_id} ${one.task_id} ${argsLine(one.args)}`.toLowerCase().includes(text))).reverse();
  const at = new Map(list.map((one, place) => [one.key, place]));
  const row = (place) => {
    const one = list[place];
    return {
      key: one.key,
      cells: [
        html`<button type="button" class="link" onClick=${() => show(one)}>${one.tool || "not placed"}</button>`,
        html`<${Tag} of="call" state=${one.state} />`,
        one.client_id ?? "",
        html`<code>${one.error ? brief(one.error) : argsLine(one.args)}</code>`,
        duration(one.duration_ms),
        html`<${Age} at=${one.at} />`,
      ],
    };
  };
  return html`
    <div class="title"><h1>Commands</h1><p class="sum">What the fleet was told to do, newest first. Older ones stand in their tasks.</p></div>
    <div class="filters" role="search">
      <label>Find <input type="search" value=${q} placeholder="tool, computer, task, argument" onInput=${(event) => setQuery({ q: event.target.value })} /></label>
      <label>Outcome <select value=${outcome} onChange=${(event) => setQuery({ outcome: event.target.value })}><option value="">any</option>${["running", "done", "failed", "not_started", "unknown", "not_placed"].map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label>
    </div>
    ${list.length ? html`<${Table} name="commands" label="Commands" columns=${COLUMNS} count=${list.length} row=${row} anchorKey=${(key) => at.get(key) ?? 0} />` : html`<${Empty} title=${commands.length ? "Nothing fits the filter" : "No commands yet"}><p>${commands.length ? "Take a filter away." : html`Commands appear here as tasks run. <a href="#/new">Start a task</a>.`}</p><//>`}
    ${shown ? html`<${Dialog} title=${shown.tool || "Not placed"} onClose=${() => show(null)}>
      <dl class="facts"><dt>Outcome</dt><dd><${Tag} of="call" state=${shown.state} /></dd><dt>Computer</dt><dd>${shown.client_id ?? "none"}</dd><dt>Task</dt><dd><a href="#/tasks/${shown.task_id}">${shown.task_id}</a></dd><dt>At</dt><dd>${moment(shown.at)}</dd><dt>Took</dt><dd>${duration(shown.duration_ms) || "open"}</dd></dl>
      ${shown.error ? html`<p class="refusal">${shown.error}</p>` : ""}
      ${shown.args !== undefined ? html`<h3>Arguments</h3><${Code} value=${shown.args} label="arguments" />` : ""}
      ${shown.result !== undefined ? html`<h3>Result</h3><${Code} value=${shown.result} label="result" />` : ""}
      <div class="buttons"><button type="button" onClick=${() => show(null)}>Close</button></div>
    <//>` : ""}`;
}
