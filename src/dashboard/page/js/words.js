// Words and numbers for people.
import { signal } from "./dom.js";

/** The time, once a second, for ages. Coarse on purpose: it redraws every age that is in sight. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

/** How long ago, in one unit. */
export function age(at, from = now.value) {
  const s = Math.max(0, Math.floor((from - Date.parse(at)) / 1000));
  if (Number.isNaN(s)) return "";
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172_800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export function duration(ms) {
  if (ms === undefined || ms === null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function count(n) {
  if (n === undefined || n === null) return "0";
  if (n < 10_000) return String(n);
  return n < 1_000_000 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

/** `a call`, `3 calls`. */
export const several = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

export const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
export const moment = (at) => new Date(at).toLocaleString([], { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
export const plain = (name) => String(name ?? "").replaceAll("_", " ");
export const firstLine = (text) => String(text ?? "").trim().split("\n", 1)[0];

/** A value as one short line. */
export function brief(value, most = 120) {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Arguments as `name=value`, without what is too long to help. */
export function argsLine(args, most = 140) {
  if (!args || typeof args !== "object" || Array.isArray(args)) return brief(args, most);
  return brief(Object.entries(args).map(([name, value]) => `${name}=${brief(value, 60)}`).join("  "), most);
}

const TASK = {
  queued: ["idle", "○"], running: ["info", "▶"], waiting_for_command: ["info", "▷"], waiting_for_user: ["warn", "?"],
  sleeping: ["idle", "z"], completed: ["ok", "✓"], failed: ["bad", "✕"], cancelled: ["idle", "–"],
};
const OUTCOME = {
  running: ["info", "▶"], intended: ["info", "▷"], queued: ["idle", "○"], done: ["ok", "✓"], failed: ["bad", "✕"],
  not_started: ["warn", "○"], unknown: ["warn", "?"], not_placed: ["bad", "✕"], blocked: ["warn", "!"],
};
const COMPUTER = {
  ready: ["ok", "●"], busy: ["info", "▶"], unresponsive: ["warn", "!"], offline: ["idle", "○"], stopped: ["bad", "■"],
};
const BREAKER = { up: ["ok", "●"], open: ["bad", "✕"], half_open: ["warn", "!"], unknown: ["idle", "○"] };
const PLAN = {
  open: ["idle", "○"], current: ["info", "▶"], done: ["ok", "✓"], failed: ["bad", "✕"], skipped: ["idle", "–"],
  replaced: ["idle", "–"], waiting: ["idle", "○"], running: ["info", "▶"],
};
const MARKS = { task: TASK, call: OUTCOME, computer: COMPUTER, model: BREAKER, plan: PLAN };

/** Tone and sign of a state; the word stands beside them, so nothing is told by colour alone. */
export const mark = (of, state) => MARKS[of][state] ?? ["idle", "○"];

export const ENDED = new Set(["completed", "failed", "cancelled"]);
export const STATUSES = Object.keys(TASK);
