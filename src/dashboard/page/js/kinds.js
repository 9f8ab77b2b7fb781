// The kinds of agents: what there is, and the way to a new one.
import { html, useEffect } from "./dom.js";
import { enc } from "./api.js";
import { Refusal } from "./parts.js";
import { kinds, kindsProblem, readKinds } from "./kinddata.js";

export function Kinds() {
  useEffect(() => {
    readKinds();
  }, []);
  const list = kinds.value;
  return html`
    <div class="title"><h1>Agents</h1><p class="sum">A kind says how its tasks are done: by which strategy, with which tools, models and budgets.</p>
      <div class="buttons"><a class="button primary" href="#/agents/+new">New kind</a></div></div>
    <${Refusal} problem=${kindsProblem.value} />
    ${!list && !kindsProblem.value ? html`<p class="loading">Reading the kinds…</p>` : ""}
    <ul class="cards">${(list ?? []).map((kind) => html`<li key=${kind.kind}><article class="panel">
      <h2><a href="#/agents/${enc(kind.kind)}">${kind.kind}</a></h2>
      <p>${kind.description}</p>
      <dl class="facts">
        <dt>Strategy</dt><dd>${kind.strategy}</dd>
        <dt>Tools</dt><dd>${[...(kind.toolsets ?? []), ...(kind.allowed_tools ?? [])].join(", ") || "none"}</dd>
        <dt>Budget</dt><dd>${budget(kind)}</dd>
        ${models(kind) ? html`<dt>Models</dt><dd>${models(kind)}</dd>` : ""}
      </dl>
      <p class="labels">${kind.default ? html`<span class="tag info">default</span>` : ""}${kind.embedded ? html`<span class="tag">comes with ccfleet</span>` : html`<span class="tag ok">yours</span>`}${kind.changed ? html`<span class="tag warn">changed by you</span>` : ""}</p>
    </article></li>`)}</ul>`;
}

function budget(kind) {
  const { steps, calls } = { ...kind.effective?.budgets, ...kind.budgets };
  return [steps && `${steps} steps`, calls && `${calls} calls`].filter(Boolean).join(", ") || "as the settings say";
}

const models = (kind) => Object.entries(kind.models ?? {}).map(([role, choice]) => choice.model && `${role}: ${choice.model}`).filter(Boolean).join(", ");
