// Figures for the plots: how many calls and tokens in each slot of time, since the page was opened.
import { signal } from "./dom.js";

const SLOT_MS = 5_000;
const SLOTS = 120;

/** {at: [seconds], calls: [per minute], tokens: [per minute], running: [tasks]}; counts up by being replaced. */
export const figures = signal({ at: [], calls: [], tokens: [], running: [] });

let calls = 0;
let tokens = 0;
const running = new Set();

export function noteEvent(event) {
  if (event.type === "call_finished" || event.type === "direct_call_ended") calls++;
  if (event.type === "model_answered") {
    const usage = event.data.answer?.usage ?? {};
    tokens += (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0);
  }
  if (!event.task) return;
  if (event.task.status === "running" || event.task.status === "waiting_for_command") running.add(event.task_id);
  else running.delete(event.task_id);
}

/** Tasks that were running before the page was opened. */
export function noteRunning(list) {
  for (const task of list) running.add(task.task_id);
}

function slot() {
  const { at, calls: c, tokens: t, running: r } = figures.peek();
  const perMinute = 60_000 / SLOT_MS;
  const cut = (list, next) => [...list.slice(-(SLOTS - 1)), next];
  figures.value = {
    at: cut(at, Math.round(Date.now() / 1000)),
    calls: cut(c, calls * perMinute),
    tokens: cut(t, tokens * perMinute),
    running: cut(r, running.size),
  };
  calls = tokens = 0;
}

export function startFigures() {
  slot();
  setInterval(slot, SLOT_MS);
}
