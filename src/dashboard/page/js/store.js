// What the page knows of the fleet: computers, tasks, questions, the latest commands, and figures for the plots. It is
// filled from the feed and read by the pages.
import { batch, computed, signal } from "./dom.js";
import { get } from "./api.js";
import { onEvent } from "./feed.js";
import { noteEvent } from "./figures.js";

/** Computers by id. A new map at each change. */
export const computers = signal(new Map());
export const computersRead = signal(false);
/** Every task that was seen, by id; `tasksChanged` counts up when any of them changed. */
export const tasks = new Map();
export const tasksChanged = signal(0);
/** Open questions and approvals; none until they were read. */
export const questions = signal(null);
export const waitingForPeople = computed(() => questions.value?.length ?? 0);
/** The newest commands of the fleet, oldest first; `commandsChanged` counts up. */
export const commands = [];
export const commandsChanged = signal(0);
/** Counts up when everything has to be read again. */
export const resets = signal(0);
/** Fuel and position of turtles, as their last call told: {fuel, position, at} by computer. */
export const reported = new Map();

const MOST_COMMANDS = 2000;
/** How long changes are gathered before the page is drawn again, in milliseconds. */
const GATHER_MS = 100;

const listeners = new Map();
const streams = new Map();
let gathered = null;
const dirty = { tasks: false, commands: false };

/** Calls `handler(event)` for each live event of a task. */
export function onTask(id, handler) {
  const all = listeners.get(id) ?? new Set();
  listeners.set(id, all.add(handler));
  return () => {
    all.delete(handler);
    if (!all.size) listeners.delete(id);
  };
}

/** What a model is saying right now: a signal of {text, thinking}. Provisional: the journal has the last word. */
export function stream(taskId, consult) {
  const key = `${taskId} ${consult}`;
  let told = streams.get(key);
  if (!told) streams.set(key, (told = signal({ text: "", thinking: "" })));
  return told;
}

/** Takes a task as the server told it, unless a newer one is known. */
export function takeTask(task) {
  const known = tasks.get(task.task_id);
  if (known && known.updated_at > task.updated_at) return known;
  tasks.set(task.task_id, task);
  dirty.tasks = true;
  gather();
  return task;
}

function gather() {
  gathered ??= setTimeout(() => {
    gathered = null;
    batch(() => {
      if (dirty.tasks) tasksChanged.value++;
      if (dirty.commands) commandsChanged.value++;
      dirty.tasks = dirty.commands = false;
    });
  }, GATHER_MS);
}

function takeComputers({ changed = [], gone = [], all = false }) {
  const next = new Map(all ? [] : computers.peek());
  for (const computer of changed) next.set(computer.client_id, computer);
  for (const id of gone) next.delete(id);
  batch(() => {
    computers.value = next;
    computersRead.value = true;
  });
}

const asked = new Map();

function ask(call, at, task_id) {
  const { call_id, tool, client_id, args, effect } = call;
  if (asked.has(call_id)) return;
  const entry = { key: call_id, at, task_id, tool, client_id, args, effect, state: "running" };
  asked.set(call_id, entry);
  commands.push(entry);
  if (commands.length > MOST_COMMANDS) for (const old of commands.splice(0, MOST_COMMANDS / 4)) asked.delete(old.key);
}

/** Takes an event of a task into the log of commands. */
export function takeCommand(event) {
  const { type, data, task_id, at } = event;
  if (type === "call_intended") {
    ask(data, at, task_id);
  } else if (type === "direct_call_ended") {
    ask(data.intended, new Date(data.began_ms).toISOString(), task_id);
    return takeCommand({ ...event, type: "call_finished", data: { call_id: data.intended.call_id, report: data.report } });
  } else if (type === "call_finished") {
    const entry = asked.get(data.call_id);
    if (!entry) return;
    const { outcome, error, result, duration_ms } = data.report;
    Object.assign(entry, { state: outcome, error, result, duration_ms, ended_at: at });
    takeReport(entry);
  } else if (type === "call_not_placed") {
    commands.push({ key: data.call_id, at, task_id, tool: "", state: "not_placed", error: data.no_route?.message });
  } else return;
  dirty.commands = true;
  gather();
}

/** Turtles tell fuel and position in the results of their tools. */
function takeReport(entry) {
  const { result, client_id, ended_at } = entry;
  if (!result || typeof result !== "object" || !client_id) return;
  if (result.fuel === undefined && !result.position) return;
  const known = reported.get(client_id) ?? {};
  if (known.at > ended_at) return;
  reported.set(client_id, { fuel: result.fuel ?? known.fuel, position: result.position ?? known.position, at: ended_at });
}

function takeEvent(event) {
  if (event.task) takeTask(event.task);
  takeCommand(event);
  noteEvent(event);
  if (event.type === "model_answered" || event.type === "model_failed") streams.delete(`${event.task_id} ${event.data.consult}`);
  if (event.type === "decided" && event.data.decision?.decision === "ask") readQuestions();
  if (event.type === "question_answered" || event.type === "question_expired") readQuestions();
  for (const handler of listeners.get(event.task_id) ?? []) handler(event);
}

let reading = false;
let readAgain = false;

/** Reads the open questions; several wishes at once are one request. */
export async function readQuestions() {
  if (reading) {
    readAgain = true;
    return;
  }
  reading = true;
  try {
    do {
      readAgain = false;
      const all = await get("/questions");
      questions.value = all.items;
    } while (readAgain);
  } catch {
    // The next change or reconnect asks again.
  } finally {
    reading = false;
  }
}

/** The next word about computers is about all of them: the feed says so of its first one. */
let allComputers = true;

/** Takes what the feed tells. */
export function follow() {
  onEvent(({ name, data }) => {
    if (name === "event") takeEvent(data);
    else if (name === "connected") allComputers = true;
    else if (name === "computers") {
      takeComputers({ ...data, all: allComputers });
      allComputers = false;
    }
    else if (name === "tokens") {
      const told = stream(data.task_id, data.consult);
      const part = data.thinking ? "thinking" : "text";
      told.value = { ...told.peek(), [part]: told.peek()[part] + data.text };
    } else if (name === "questions") readQuestions();
    else if (name === "reset") {
      streams.clear();
      resets.value++;
      readQuestions();
    }
  });
}
