// The fleet: every computer, what it does, and stop and resume.
import { html, useMemo, useState } from "./dom.js";
import { enc, get, post } from "./api.js";
import { computers, computersRead, reported, commandsChanged } from "./store.js";
import { Action, Age, Copy, Dialog, Empty, Tag, failed, notice } from "./parts.js";
import { Table } from "./virtual.js";
import { brief, duration, plain, several } from "./words.js";
import { route, setQuery } from "./route.js";

const RANK = { stopped: 0, unresponsive: 1, busy: 2, ready: 3, offline: 4 };
const COLUMNS = ["Computer", "State", "Kind", "Now", "Queue", "Fuel, position", "Tools", "Since"];

const wanted = (computer, text) =>
  !text || [computer.client_id, computer.label, computer.kind, computer.state, computer.owner, ...(computer.groups ?? [])].some((part) => part?.toLowerCase().includes(text));

export function Fleet() {
  const all = computers.value;
  const text = (route.value.query.q ?? "").toLowerCase();
  const chosen = route.value.query.computer;
  const list = useMemo(() => {
    const found = [...all.values()].filter((computer) => wanted(computer, text));
    return found.sort((a, b) => RANK[a.state] - RANK[b.state] || a.client_id.localeCompare(b.client_id, undefined, { numeric: true }));
  }, [all, text]);
  if (!computersRead.value) return html`<h1>Fleet</h1><p class="loading">Reading the fleet…</p>`;
  if (!all.size) return html`<div class="title"><h1>Fleet</h1></div><${Install} />`;
  const states = {};
  for (const computer of all.values()) states[computer.state] = (states[computer.state] ?? 0) + 1;
  return html`
    <div class="title"><h1>Fleet</h1>
      <p class="sum">${several(all.size, "computer")}${Object.entries(states).map(([state, n]) => html` <${Tag} of="computer" state=${state} /><span class="figure">${n}</span>`)}</p>
      <div class="buttons"><${StopAll} states=${states} size=${all.size} /></div>
    </div>
    <div class="filters" role="search"><label>Find <input type="search" value=${route.value.query.q ?? ""} onInput=${(event) => setQuery({ q: event.target.value })} placeholder="name, label, group, state" /></label></div>
    <${Rows} list=${list} />
    ${chosen && all.has(chosen) ? html`<${Details} computer=${all.get(chosen)} />` : ""}
    <details class="add"><summary>Add a computer</summary><${InstallLines} /></details>`;
}

function Rows({ list }) {
  commandsChanged.value;
  const row = (at) => {
    const computer = list[at];
    return {
      key: computer.client_id,
      href: `#/fleet?computer=${enc(computer.client_id)}`,
      label: `${computer.label ?? computer.client_id}, ${plain(computer.state)}`,
      cells: [
        html`<span class="name">${computer.label ?? computer.client_id}</span>${computer.label && computer.label !== computer.client_id ? html` <span class="dim">${computer.client_id}</span>` : ""}`,
        html`<${Tag} of="computer" state=${computer.state} />`,
        computer.kind ?? "",
        computer.current_call ? html`<code>${current(computer.current_call)}</code>` : "",
        computer.queue || "",
        html`<${Report} id=${computer.client_id} />`,
        toolNames(computer).length || "",
        html`<${Age} at=${computer.since} />`,
      ],
    };
  };
  return html`<${Table} name="fleet" label="Computers" columns=${COLUMNS} count=${list.length} row=${row} />`;
}

const current = (call) => (typeof call === "string" ? call : (call.tool ?? brief(call)));
const toolNames = (computer) => (Array.isArray(computer.tools) ? computer.tools : Object.values(computer.tools ?? {}));

/** As the last call of the turtle told; computers do not report it by themselves. */
function Report({ id }) {
  commandsChanged.value;
  const told = reported.get(id);
  if (!told) return "";
  const { fuel, position: p } = told;
  const place = p ? `${p.x}, ${p.y}, ${p.z}${p.verified ? "" : " (unverified)"}` : "";
  return html`<span title="as its last call told">${fuel !== undefined ? `fuel ${fuel}` : ""}${fuel !== undefined && place ? " · " : ""}${place}</span>`;
}

async function stop(client_id) {
  const done = await post("/stop", client_id ? { client_id } : {});
  notice(`${client_id ?? "The fleet"} is stopped: ${several(done.cancelled_calls, "running call")} cancelled. Nothing new is sent until you resume.`);
}

async function resume(client_id) {
  await post("/resume", client_id ? { client_id } : {});
  notice(`${client_id ?? "The fleet"} goes on.`);
}

function StopAll({ states, size }) {
  const stopped = states.stopped ?? 0;
  const online = size - (states.offline ?? 0);
  return html`
    ${stopped && stopped >= online ? html`<p class="stopped" role="status"><span aria-hidden="true">■</span> The fleet is stopped</p>` : ""}
    <${Action} className="danger" onClick=${() => stop()}>Stop all<//>
    <${Action} disabled=${!stopped} onClick=${() => resume()}>Resume all<//>`;
}

function Details({ computer }) {
  const close = () => setQuery({ computer: "" });
  const [queue, setQueue] = useState(null);
  const tools = toolNames(computer);
  const show = () => get(`/computers/${enc(computer.client_id)}/queue`).then((all) => setQueue(all.items), failed);
  const look = async () => {
    const told = await post("/tools/call", { command: "turtle_status", client_id: computer.client_id, args: {}, timeout_ms: 10_000 });
    if (!told.ok) notice(told.error ?? `turtle_status: ${told.outcome}`, "bad");
  };
  return html`<${Dialog} title=${computer.label ?? computer.client_id} onClose=${close}>
    <dl class="facts">
      <dt>State</dt><dd><${Tag} of="computer" state=${computer.state} /> for <${Age} at=${computer.since} /></dd>
      <dt>Name</dt><dd><code>${computer.client_id}</code></dd>
      <dt>Kind</dt><dd>${computer.kind ?? "not told"}</dd>
      <dt>Groups</dt><dd>${computer.groups?.join(", ") || "none"}</dd>
      <dt>Owner</dt><dd>${computer.owner}</dd>
      <dt>Library</dt><dd>${computer.library_version ?? "not told"}</dd>
      <dt>Now</dt><dd>${computer.current_call ? html`<code>${current(computer.current_call)}</code>` : "nothing"}</dd>
      <dt>Fuel, position</dt><dd><${Report} id=${computer.client_id} />${computer.kind === "turtle" && computer.online ? html` <${Action} className="small" onClick=${look}>Ask the turtle<//>` : reported.has(computer.client_id) ? "" : "not told"}</dd>
      ${computer.second_copy_refused ? html`<dt>A second copy</dt><dd>was refused <${Age} at=${computer.second_copy_refused} /> ago: two computers use this name</dd>` : ""}
    </dl>
    <div class="buttons">
      ${computer.state === "stopped" ? html`<${Action} className="primary" onClick=${() => resume(computer.client_id)}>Resume<//>` : html`<${Action} className="danger" onClick=${() => stop(computer.client_id)}>Stop<//>`}
      <a class="button" href="#/new?computer=${enc(computer.client_id)}">New task here</a>
      <a class="button" href="#/tasks?computer=${enc(computer.client_id)}">Its tasks</a>
      <button type="button" onClick=${close}>Close</button>
    </div>
    <details onToggle=${(event) => event.currentTarget.open && show()}><summary>Queue: ${several(computer.queue ?? 0, "call")}</summary>
      ${queue?.length ? html`<ol class="lines">${queue.map((call) => html`<li><code>${call.tool}</code> of <a href="#/tasks/${call.task_id}">${call.task_id}</a>, waits ${duration(call.age_ms)}</li>`)}</ol>` : html`<p class="help">No call waits here.</p>`}
    </details>
    <details><summary>${several(tools.length, "tool")}</summary>
      <ul class="lines tools">${tools.map((tool) => html`<li><code>${tool.name}</code> <span class="dim">${tool.effect ?? "effect"}${tool.state && tool.state !== "active" ? `, ${tool.state}` : ""}</span><br />${tool.description}</li>`)}</ul>
    </details>
  <//>`;
}

/** Where nobody is connected yet. */
function Install() {
  return html`<${Empty} title="No computer is connected yet">
    <p>Type this on a ComputerCraft computer, turtle or pocket computer. It asks for a name and starts at boot from then on; the computer appears here by itself.</p>
    <${InstallLines} />
    <p class="help">Without Minecraft at hand, <code>ccfleet sim --server ws://${location.host}/ws --count 3 --dir ./ccfleet-sim</code> starts three simulated ones.</p>
  <//>`;
}

const PRIVATE = /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[)/;
const LOOPBACK = /^(localhost|127\.|\[::1\])/;

function InstallLines() {
  const line = `wget run ${location.origin}/install.lua`;
  const rule = `[[http.rules]]\nhost = "${location.hostname.replace("localhost", "127.0.0.1")}"\naction = "allow"`;
  return html`
    <p class="line"><code>${line}</code><${Copy} text=${line} label="Copy the install line" /></p>
    ${LOOPBACK.test(location.hostname) ? html`<p class="help">This address works if the game's server runs on this machine. From another one, use this machine's address there, and let ccfleet listen on it (<code>server.bind</code>).</p>` : ""}
    ${PRIVATE.test(location.hostname) ? html`<p class="help">ComputerCraft refuses local addresses unless its configuration allows them: <q>Domain not permitted</q>. Put this <em>before</em> the other <code>http.rules</code> in <code>computercraft-server.toml</code> of the world:</p>
      <div class="code"><${Copy} text=${rule} label="Copy the rule" small /><pre>${rule}</pre></div>` : ""}`;
}
