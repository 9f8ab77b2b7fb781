// The live feed: connects, goes on behind the last event it saw, and tells how the connection stands.
import { signal } from "./dom.js";
import { headers, token } from "./api.js";
import { EventReader } from "./sse.js";

/** `connecting`, `live`, `lost`, or `refused` (who asks may not);  with the time since when. */
export const connection = signal({ state: "connecting", since: Date.now(), tries: 0 });

/** Silence after which a connection counts as dead: the server says something every 15 s. */
const SILENCE_MS = 40_000;
const PAUSES_MS = [300, 600, 1200, 2500, 5000];

const handlers = new Set();
let cursor;
let current;

/** Calls `handler({name, data})` for every event; `{name: "reset"}` means that everything has to be read again. */
export function onEvent(handler) {
  handlers.add(handler);
  return () => handlers.delete(handler);
}

function tell(name, data) {
  for (const handler of handlers) handler({ name, data });
}

function set(state, tries = 0) {
  const { state: former, since } = connection.value;
  connection.value = { state, tries, since: former === state ? since : Date.now() };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function listen(control) {
  const known = cursor;
  const response = await fetch("/api/v1/events?tokens=true", {
    headers: { Accept: "text/event-stream", ...headers(), ...(known ? { "Last-Event-ID": known } : {}) },
    signal: control.signal,
    cache: "no-store",
  });
  if (response.status === 401 || response.status === 403) return "refused";
  if (!response.ok || !response.body) return "failed";
  set("live");
  tell("connected");
  // Without a place to go on from, nobody knows what was missed.
  if (!known) tell("reset");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  let watchdog = setTimeout(() => control.abort(), SILENCE_MS);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return "ended";
      clearTimeout(watchdog);
      watchdog = setTimeout(() => control.abort(), SILENCE_MS);
      for (const event of events.take(value)) take(event);
    }
  } finally {
    clearTimeout(watchdog);
  }
}

function take(event) {
  if (event.name === "") {
    cursor = event.id;
    return;
  }
  if (event.name === "reset") {
    cursor = event.id;
    tell("reset");
    return;
  }
  let data;
  try {
    data = JSON.parse(event.data);
  } catch {
    return;
  }
  if (event.id !== undefined) cursor = event.id;
  tell(event.name, data);
}

/** Connects until the page is left. */
export async function start() {
  for (let tries = 0; ; ) {
    const control = new AbortController();
    current = control;
    let outcome = "failed";
    try {
      outcome = await listen(control);
    } catch {
      // The network's errors and our own aborts alike: try again.
    }
    if (outcome === "refused") {
      set("refused");
      await until(token);
      continue;
    }
    tries = connection.value.state === "live" ? 0 : tries + 1;
    set("lost", tries);
    const wait = PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)];
    await pause(wait * (0.8 + Math.random() * 0.4));
  }
}

/** Another token is another reader: what was seen so far may not be for it, and more may be. */
export function restart() {
  cursor = undefined;
  current?.abort();
}

/** Waits until a signal has another value, or a minute. */
function until(watched) {
  return new Promise((done) => {
    let first = true;
    const stop = watched.subscribe(() => {
      if (first) first = false;
      else finish();
    });
    const timer = setTimeout(finish, 60_000);
    function finish() {
      clearTimeout(timer);
      stop();
      done();
    }
  });
}
