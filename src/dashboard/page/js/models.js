// Models: health, queue, and plots of what goes on.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import { get } from "./api.js";
import { figures, noteRunning } from "./figures.js";
import { resets } from "./store.js";
import { Age, Empty, More, Code, Refusal, Tag } from "./parts.js";
import { count, several } from "./words.js";
import uPlot from "../vendor/uplot.js";

const EVERY_MS = 3000;
/** What the curves show, in seconds. */
const WINDOW_S = 600;

/** Health is asked for while somebody looks. */
function useModels() {
  const [told, tell] = useState({ items: null, problem: null });
  useEffect(() => {
    let live = true;
    const look = async () => {
      try {
        const all = await get("/models");
        if (live) tell({ items: all.items, problem: null });
      } catch (problem) {
        if (live) tell((had) => ({ items: had.items, problem }));
      }
    };
    look();
    const timer = setInterval(() => !document.hidden && look(), EVERY_MS);
    return () => {
      live = false;
      clearInterval(timer);
    };
  }, [resets.value]);
  return told;
}

export function Models() {
  const { items, problem } = useModels();
  useEffect(() => {
    Promise.all(["running", "waiting_for_command"].map((status) => get(`/tasks?limit=500&status=${status}`))).then((pages) => noteRunning(pages.flatMap((page) => page.items)), () => {});
  }, [resets.value]);
  const { at, calls, tokens, running } = figures.value;
  return html`
    <div class="title"><h1>Models</h1><p class="sum">Who thinks, whether they answer, and what waits for them.</p></div>
    <${Refusal} problem=${problem} />
    ${items && !items.length ? html`<${Empty} title="No models are set up"><p>Set <code>models.planner</code> in the configuration; <code>ccfleet doctor</code> says what is missing.</p><//>` : ""}
    <ul class="cards">${(items ?? []).map((model) => html`<li key=${model.role}><article class="panel">
      <h2>${model.role}: ${model.model || model.provider}</h2>
      <p><${Tag} of="model" state=${model.state} /></p>
      <dl class="facts">
        <dt>Server</dt><dd>${model.provider}${model.base_url ? html` <code>${model.base_url}</code>` : ""}</dd>
        <dt>Running</dt><dd class="figure">${amount(model.running)}</dd>
        <dt>Queue</dt><dd class="figure">${amount(model.queue) === "0" ? "nobody waits" : `${amount(model.queue)} waiting`}</dd>
      </dl>
      ${model.last_error ? html`<p class="bad-text">${typeof model.last_error === "string" ? model.last_error : (model.last_error.message ?? model.last_error.code)}${model.last_error.at ? html` (<${Age} at=${model.last_error.at} /> ago)` : ""}</p>` : ""}
      ${model.preflight ? html`<${More} summary="What was tried with it"><${Code} value=${model.preflight} label="preflight" /><//>` : ""}
    </article></li>`)}</ul>
    <h2>Since this page was opened</h2>
    <div class="plots">
      <${Plot} title="Calls a minute" unit="calls" at=${at} values=${calls} />
      <${Plot} title="Tokens a minute" unit="tokens" at=${at} values=${tokens} />
      <${Plot} title="Tasks running" unit="tasks" at=${at} values=${running} />
    </div>`;
}

const amount = (value) => String(Array.isArray(value) ? value.length : (value ?? 0));

function Plot({ title, unit, at, values }) {
  const box = useRef();
  const plot = useRef(null);
  const last = values.at(-1) ?? 0;
  useLayoutEffect(() => {
    const make = () => {
      plot.current?.destroy();
      const css = getComputedStyle(document.documentElement);
      const colour = (name) => css.getPropertyValue(`--${name}`).trim();
      const axis = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: "11px system-ui" };
      plot.current = new uPlot({
        width: box.current.clientWidth, height: 130, legend: { show: false }, cursor: { show: false },
        scales: { x: { range: (self, min, max) => [(max ?? Date.now() / 1000) - WINDOW_S, max ?? Date.now() / 1000] }, y: { range: (self, min, max) => [0, Math.max(1, max * 1.1)] } },
        axes: [{ ...axis, values: (self, splits) => splits.map((s) => new Date(s * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })), space: 70 }, { ...axis, size: 44, values: (self, splits) => splits.map((v) => (Number.isInteger(v) ? count(v) : "")) }],
        series: [{}, { stroke: colour("accent"), width: 1.75, fill: `${colour("accent")}22`, points: { show: false } }],
      }, [at, values], box.current);
    };
    make();
    const sized = new ResizeObserver(() => plot.current?.setSize({ width: box.current.clientWidth, height: 130 }));
    sized.observe(box.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", make);
    const themed = new MutationObserver(make);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      sized.disconnect();
      themed.disconnect();
      scheme.removeEventListener("change", make);
      plot.current.destroy();
    };
  }, []);
  useEffect(() => {
    plot.current?.setData([at, values]);
  }, [at, values]);
  // A canvas tells nothing to who cannot see it: the words do.
  const most = Math.max(0, ...values);
  return html`<figure class="plot" role="img" aria-label=${`${title}: now ${several(Math.round(last), unit.replace(/s$/, ""))}, at most ${count(most)} in the last ten minutes`}><h3>${title} <span class="figure">${count(last)}</span></h3><div ref=${box} aria-hidden="true"></div></figure>`;
}
