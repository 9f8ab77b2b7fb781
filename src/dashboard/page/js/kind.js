// One kind: made, changed, put back. What the server refuses is shown at its field.
import { html, useEffect, useState } from "./dom.js";
import { ask, enc, get } from "./api.js";
import { go } from "./route.js";
import { keep, kept } from "./keep.js";
import { Action, Dialog, Field, Refusal, notice } from "./parts.js";
import { readChoices, readKinds, strategies, toolsets } from "./kinddata.js";

const BUDGETS = [["steps", "Steps"], ["calls", "Calls"], ["questions", "Questions"], ["wall_time_s", "Seconds awake"], ["tokens", "Tokens (0: any number)"]];
const CHOICE = [["model", "Model", "text"], ["temperature", "Temperature", "number"], ["max_tokens", "Longest answer, tokens", "number"]];
/** Keys with fields of their own; everything else is edited as JSON. */
const OWN = ["kind", "description", "strategy", "toolsets", "allowed_tools", "demand_proof", "instructions", "executor_mode", "start_tasks", "budgets", "models", "wakes"];
const TOLD = ["embedded", "changed", "default", "effective"];
const FRESH = { kind: "", description: "", strategy: "directive", toolsets: ["files", "code"], allowed_tools: [], demand_proof: false, instructions: "", budgets: {}, models: {}, wakes: {} };

/** What the form holds: texts, so that half a number can be typed. */
function draftOf(kind) {
  const rest = Object.fromEntries(Object.entries(kind).filter(([name, value]) => !OWN.includes(name) && !TOLD.includes(name) && !isEmpty(value)));
  return {
    ...FRESH, ...kind,
    allowed_tools: (kind.allowed_tools ?? []).join("\n"),
    events: (kind.wakes?.events ?? []).join("\n"),
    rest: Object.keys(rest).length ? JSON.stringify(rest, null, 2) : "",
  };
}

const isEmpty = (value) => value === null || (typeof value === "object" && !Object.keys(value).length);
const lines = (text) => text.split(/[\n,]/).map((line) => line.trim()).filter(Boolean);

/** A group without what was left empty; numbers where numbers are meant. */
function group(fields, numbers) {
  const given = Object.entries(fields ?? {}).filter(([, value]) => value !== "" && value !== null && value !== undefined && !(typeof value === "object" && !Object.keys(value).length));
  return Object.fromEntries(given.map(([name, value]) => [name, numbers && typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value)) ? Number(value) : value]));
}

function kindOf(draft) {
  const rest = draft.rest.trim() ? JSON.parse(draft.rest) : {};
  const models = Object.fromEntries(Object.entries(draft.models ?? {}).map(([role, choice]) => {
    const { model, ...numbers } = choice;
    return [role, { ...group({ model }), ...group(numbers, true) }];
  }).filter(([, choice]) => Object.keys(choice).length));
  const wakes = group({ ...draft.wakes, events: undefined }, true);
  return {
    ...rest,
    kind: draft.kind.trim(), description: draft.description, strategy: draft.strategy, toolsets: draft.toolsets, allowed_tools: lines(draft.allowed_tools),
    demand_proof: Boolean(draft.demand_proof), instructions: draft.instructions,
    ...(draft.executor_mode ? { executor_mode: draft.executor_mode } : {}),
    ...(typeof draft.start_tasks === "boolean" ? { start_tasks: draft.start_tasks } : {}),
    budgets: group(draft.budgets, true), models, wakes: { ...wakes, ...(lines(draft.events).length ? { events: lines(draft.events) } : {}) },
  };
}

export function Kind({ name }) {
  const isNew = name === "+new";
  const key = `kind.${name}`;
  const [kind, setKind] = useState(isNew ? FRESH : null);
  const [draft, setDraft] = useState(kept(key, isNew ? draftOf(FRESH) : null));
  const [problem, setProblem] = useState(null);
  const [dialog, setDialog] = useState(false);
  const load = async () => {
    try {
      const told = await get(`/kinds/${enc(name)}`);
      setKind(told);
      setDraft((had) => had ?? draftOf(told));
    } catch (refused) {
      setProblem(refused);
    }
  };
  useEffect(() => {
    readChoices();
    if (!isNew) load();
  }, []);
  if (!draft || !kind) return html`<h1>${name}</h1>${problem ? html`<${Refusal} problem=${problem} />` : html`<p class="loading">Reading…</p>`}`;
  const change = (fields) => {
    const next = { ...draft, ...fields };
    setDraft(next);
    keep(key, next);
  };
  const forget = () => {
    keep(key, null);
    setProblem(null);
  };
  const send = async (event) => {
    event.preventDefault();
    setProblem(null);
    let body;
    try {
      body = kindOf(draft);
    } catch (error) {
      return setProblem({ field: "rest", message: `This is no JSON: ${error.message}` });
    }
    if (!/^[a-z0-9_-]{1,64}$/.test(body.kind)) return setProblem({ field: "kind", message: "A name has 1 to 64 of a-z, 0-9, _ and -." });
    try {
      const told = await ask("PUT", `/kinds/${enc(body.kind)}`, body);
      forget();
      notice(isNew ? `${body.kind} is there. New tasks can use it now.` : `${body.kind} is saved. New tasks get it; running ones keep what they began with.`);
      await readKinds();
      if (isNew) return go(`#/agents/${enc(body.kind)}`);
      setKind(told);
      setDraft(draftOf(told));
    } catch (refused) {
      setProblem(refused);
      document.getElementById(fieldId(refused.field))?.focus();
    }
  };
  const takeBack = async () => {
    const done = await ask("DELETE", `/kinds/${enc(name)}`);
    setDialog(false);
    forget();
    await readKinds();
    notice(done?.restored ? `${name} is as it came with ccfleet.` : `${name} is deleted.`);
    if (done?.restored) {
      const told = await get(`/kinds/${enc(name)}`);
      setKind(told);
      setDraft(draftOf(told));
    } else go("#/agents");
  };
  const dirty = JSON.stringify(draft) !== JSON.stringify(draftOf(kind));
  return html`
    <p class="crumbs"><a href="#/agents">Agents</a> / ${isNew ? "new" : name}</p>
    <div class="title"><h1>${isNew ? "New kind" : name}</h1><p class="sum">${dirty ? "Not saved yet; the draft is kept in this tab." : kind.embedded ? "Comes with ccfleet. Your changes stand beside it and can be taken back." : ""}</p></div>
    <form class="kind" onSubmit=${send} novalidate>
      <${Form} draft=${draft} change=${change} problem=${problem} isNew=${isNew} effective=${kind.effective ?? {}} />
      ${problem && !document.getElementById(fieldId(problem.field)) ? html`<${Refusal} problem=${problem} />` : ""}
      <div class="buttons"><button type="submit" class="primary">Save</button>
        ${dirty ? html`<button type="button" onClick=${() => { forget(); setDraft(draftOf(kind)); }}>Take my changes back</button>` : ""}
        ${!isNew && (kind.changed || !kind.embedded) ? html`<button type="button" class="danger" onClick=${() => setDialog(true)}>${kind.embedded ? "Put it back as it came" : "Delete"}</button>` : ""}</div>
    </form>
    ${dialog ? html`<${Dialog} title=${kind.embedded ? `Put ${name} back?` : `Delete ${name}?`} onClose=${() => setDialog(false)}>
      <p>${kind.embedded ? "Your changes are lost; new tasks get it as it came with ccfleet." : "New tasks cannot use it any more."} Running tasks keep what they began with.</p>
      <div class="buttons"><${Action} className="danger" onClick=${takeBack}>${kind.embedded ? "Put it back" : "Delete"}<//><button type="button" onClick=${() => setDialog(false)}>Leave it</button></div>
    <//>` : ""}`;
}

/** The control that a field of the server's errors means: `budgets.steps`, `templates[0]…`. */
function fieldId(field) {
  if (!field) return "none";
  const [first, second, third] = field.split(/[.[]/);
  if (first === "wakes" && second === "events") return "k-events";
  if (!OWN.includes(first)) return "k-rest";
  return ["k", first, second, third].filter((part) => part && !/^\d/.test(part)).join("-");
}

function Form({ draft, change, problem, isNew, effective }) {
  const wrong = (id) => (problem && fieldId(problem.field) === id ? [problem.message, problem.hint].filter(Boolean).join(". ") : "");
  const text = (id, label, value, set, more = {}) => html`<${Field} id=${id} label=${label} help=${more.help} error=${wrong(id)}>${(props) => html`<input type="text" inputmode=${more.number ? "decimal" : undefined} value=${value ?? ""} placeholder=${more.otherwise ?? ""} disabled=${more.disabled} autocomplete="off" onInput=${(event) => set(event.target.value)} ...${props} />`}<//>`;
  const deep = (part, name, value) => change({ [part]: { ...draft[part], [name]: value } });
  const known = strategies.value.length ? strategies.value : [{ name: draft.strategy, description: "" }];
  const sets = toolsets.value.length ? toolsets.value : draft.toolsets.map((name) => ({ name, description: "" }));
  return html`
    <fieldset><legend>What it is</legend>
      ${text("k-kind", "Name", draft.kind, (kind) => change({ kind }), { disabled: !isNew, help: isNew ? "a-z, 0-9, _ and -" : "" })}
      ${text("k-description", "Description", draft.description, (description) => change({ description }))}
      <${Field} id="k-strategy" label="Strategy" error=${wrong("k-strategy")} help=${known.find((one) => one.name === draft.strategy)?.description}>${(props) => html`<select value=${draft.strategy} onChange=${(event) => change({ strategy: event.target.value })} ...${props}>${known.filter((one) => one.name !== "call" || draft.strategy === "call").map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select>`}<//>
      <${Field} id="k-instructions" label="Instructions" help="What the planner is told beside the general rules." error=${wrong("k-instructions")}>${(props) => html`<textarea rows="6" value=${draft.instructions} onInput=${(event) => change({ instructions: event.target.value })} ...${props}></textarea>`}<//>
      <${Field} id="k-demand_proof" inline label="It may end only after a test that ran since the last change" error=${wrong("k-demand_proof")}>${(props) => html`<input type="checkbox" checked=${draft.demand_proof} onChange=${(event) => change({ demand_proof: event.target.checked })} ...${props} />`}<//>
    </fieldset>
    <fieldset id="k-toolsets" tabindex="-1"><legend>Tools</legend>
      ${wrong("k-toolsets") ? html`<p class="error" role="alert">${wrong("k-toolsets")}</p>` : ""}
      <div class="choices">${sets.map((set) => html`<div key=${set.name}><label class="check"><input type="checkbox" checked=${draft.toolsets.includes(set.name)} onChange=${(event) => change({ toolsets: event.target.checked ? [...draft.toolsets, set.name] : draft.toolsets.filter((name) => name !== set.name) })} /> ${set.name}</label><p class="help">${set.description}</p></div>`)}</div>
      <${Field} id="k-allowed_tools" label="Further tools" help="Names or globs, one a line. * is every tool." error=${wrong("k-allowed_tools")}>${(props) => html`<textarea rows="3" value=${draft.allowed_tools} onInput=${(event) => change({ allowed_tools: event.target.value })} ...${props}></textarea>`}<//>
      <${Field} id="k-start_tasks" label="May it start other tasks?" error=${wrong("k-start_tasks")}>${(props) => html`<select value=${String(draft.start_tasks ?? "")} onChange=${(event) => change({ start_tasks: { true: true, false: false }[event.target.value] })} ...${props}><option value="">as the settings say</option><option value="true">yes</option><option value="false">no</option></select>`}<//>
    </fieldset>
    <fieldset><legend>Budgets of a task</legend><div class="grid">${BUDGETS.map(([name, label]) => text(`k-budgets-${name}`, label, draft.budgets?.[name], (value) => deep("budgets", name, value), { number: true, otherwise: effective.budgets?.[name] ?? "" }))}</div></fieldset>
    <fieldset><legend>Models</legend>
      ${["planner", "executor"].map((role) => html`<div class="grid" key=${role} role="group" aria-label=${role}>${CHOICE.map(([name, label, type]) => text(`k-models-${role}-${name}`, `${role === "planner" ? "Planner" : "Executor"}: ${label.toLowerCase()}`, draft.models?.[role]?.[name], (value) => change({ models: { ...draft.models, [role]: { ...draft.models?.[role], [name]: value } } }), { number: type === "number", otherwise: "as the settings say" }))}</div>`)}
      <${Field} id="k-executor_mode" label="When is the executor model asked?" error=${wrong("k-executor_mode")}>${(props) => html`<select value=${draft.executor_mode ?? ""} onChange=${(event) => change({ executor_mode: event.target.value })} ...${props}><option value="">as the settings say</option><option value="auto">auto: only if rules cannot translate</option><option value="always">always</option><option value="never">never</option></select>`}<//>
    </fieldset>
    <fieldset><legend>Schedule and wakes</legend>
      <p class="help">A task sleeps after its end and is woken by these. A task that is created with times of its own keeps to those.</p>
      <div class="grid">${text("k-wakes-every_s", "Every … seconds", draft.wakes?.every_s, (value) => deep("wakes", "every_s", value), { number: true, otherwise: "not by the clock" })}
      ${text("k-wakes-cron", "or at (cron, UTC)", draft.wakes?.cron, (value) => deep("wakes", "cron", value), { otherwise: "0 8 * * 1" })}</div>
      <${Field} id="k-wakes-on_demand" inline label="People can wake it" error=${wrong("k-wakes-on_demand")}>${(props) => html`<input type="checkbox" checked=${draft.wakes?.on_demand ?? false} onChange=${(event) => deep("wakes", "on_demand", event.target.checked || undefined)} ...${props} />`}<//>
      <${Field} id="k-events" label="Events of the world that wake it" help="Names or globs, one a line." error=${wrong("k-events")}>${(props) => html`<textarea rows="2" value=${draft.events} onInput=${(event) => change({ events: event.target.value })} ...${props}></textarea>`}<//>
      <div class="grid">${text("k-wakes-failures", "Failures in a row before it fails", draft.wakes?.failures, (value) => deep("wakes", "failures", value), { number: true, otherwise: effective.wakes?.failures ?? "" })}
      ${text("k-wakes-remember", "Former episodes it is told of", draft.wakes?.remember, (value) => deep("wakes", "remember", value), { number: true, otherwise: effective.wakes?.remember ?? "" })}</div>
    </fieldset>
    <fieldset><legend>Everything else</legend>
      <${Field} id="k-rest" label="Further keys, as JSON" help="memory, guards, policy, plan, numbered, goals, tools, templates: as docs/kinds.md lists them." error=${wrong("k-rest") || (problem?.field === "rest" ? problem.message : "")}>${(props) => html`<textarea rows="6" spellcheck="false" value=${draft.rest} onInput=${(event) => change({ rest: event.target.value })} ...${props}></textarea>`}<//>
    </fieldset>`;
}
