// A task's journal as people read it: entries in order, and the plan as far as it is. Folded from the events, so that a
// page which was opened late shows the same as one that watched.
import { PlanBooks } from "./planbooks.js";

/** Whether a call did what it was asked for: a tool may say of itself that it did not. */
export function succeeded(report) {
  const result = report.result;
  const denies = result && typeof result === "object" && (result.success === false || result.passed === false);
  return report.outcome === "done" && !denies;
}

export class Journal {
  constructor() {
    this.last = 0;
    this.entries = [];
    this.books = new PlanBooks();
    this.created = null;
    this.consults = new Map();
    this.calls = new Map();
    this.questions = new Map();
    this.waits = new Map();
    this.groups = new Map();
  }

  /** Takes the next event; gives whether it was the next one. A repeat is no gap. */
  take(event) {
    if (event.seq <= this.last) return true;
    if (event.seq !== this.last + 1) return false;
    this.last = event.seq;
    const taken = this[`on_${event.type}`];
    if (taken) taken.call(this, event, event.data ?? {});
    return true;
  }

  #add(event, type, fields) {
    const entry = { changed: 0, key: `${event.seq}.${type}${fields.call_id ?? ""}`, seq: event.seq, at: event.at, type, track: event.data?.track ?? 0, ...fields };
    this.entries.push(entry);
    return entry;
  }

  /** An entry as it is from now on. */
  #change(entry, fields) {
    Object.assign(entry, fields, { changed: entry.changed + 1 });
  }

  #mark(event, text) {
    this.#add(event, "mark", { text });
  }

  on_task_created(event, data) {
    this.created = data;
  }

  on_direct_call_ended(event, data) {
    const { created, intended, report, began_ms } = data;
    this.created = created;
    const { call_id, tool, args, client_id, effect } = intended;
    this.#add(event, "call", { call_id, tool, args, client_id, effect, report, by: "rules", state: report.outcome, started_at: new Date(began_ms).toISOString(), ended_at: event.at });
  }

  on_forked(event, data) {
    const from = data.from ?? data.task_id;
    this.#add(event, "mark", { text: `goes on from ${from ?? "another task"}, behind its step ${data.step ?? data.at ?? "?"} (${data.carried_events ?? 0} events carried over)`, task: from });
  }

  on_generation_started(event, data) {
    if (data.generation > 1) this.#mark(event, `started again: ${data.reason}`);
  }

  on_decided(event, data) {
    const { decision } = data;
    const track = data.track ?? 0;
    if (decision.decision === "consult") {
      const entry = this.#add(event, "consult", { role: decision.role, contract: decision.contract, tail: decision.prompt?.append?.at(-1)?.content });
      this.consults.set(event.seq, entry);
    } else if (decision.decision === "call") {
      const group = { open: decision.calls.length, ok: 0, bad: 0, track };
      for (const call of decision.calls) {
        const request = call.request ?? decision.request;
        const entry = this.#add(event, "call", { call_id: call.call_id, tool: call.tool, args: call.args, target: call.target, child: call.child, explanation: request?.explanation, by: decision.translated_by, state: "queued" });
        this.calls.set(call.call_id, entry);
        this.groups.set(call.call_id, group);
      }
    } else if (decision.decision === "ask") {
      const entry = this.#add(event, "question", { ...decision.question });
      this.questions.set(decision.question.question_id, entry);
    } else if (decision.decision === "block") {
      this.#add(event, "guard", { guard: decision.guard, evidence: decision.evidence });
    } else if (decision.decision === "wait") {
      this.waits.set(decision.reason, this.#add(event, "wait", { reason: decision.reason, until: decision.until_ms }));
    } else if (decision.decision === "advance") {
      const text = this.books.advance(decision.advance, event.at);
      if (text) this.#mark(event, text);
    }
  }

  on_model_answered(event, data) {
    const entry = this.consults.get(data.consult);
    if (!entry) return;
    this.#change(entry, { answer: data.answer, failure: undefined, ended_at: event.at });
    this.books.said(data.role, data.answer.content);
  }

  on_model_failed(event, data) {
    const entry = this.consults.get(data.consult);
    if (entry) this.#change(entry, { failure: data.failure, ended_at: event.at });
  }

  on_directive_read(event, data) {
    const entry = this.consults.get(data.consult);
    if (entry) this.#change(entry, { reading: data.reading });
  }

  on_request_read(event, data) {
    const entry = this.consults.get(data.consult);
    if (entry) this.#change(entry, { request: data.request, problems: data.problems });
  }

  on_answer_read(event, data) {
    const { consult, ...read } = data;
    const entry = this.consults.get(consult);
    if (entry) this.#change(entry, { read });
    this.books.read(read);
  }

  on_call_intended(event, data) {
    const entry = this.calls.get(data.call_id);
    if (entry) this.#change(entry, { client_id: data.client_id, call_seq: data.seq, effect: data.effect, args: data.args, state: "running", started_at: event.at });
  }

  on_call_finished(event, data) {
    const entry = this.calls.get(data.call_id);
    if (!entry) return;
    this.#change(entry, { report: data.report, state: data.report.outcome, ended_at: event.at });
    this.#ended(data.call_id, succeeded(data.report));
  }

  on_call_not_placed(event, data) {
    const entry = this.calls.get(data.call_id);
    if (!entry) return;
    this.#change(entry, { state: "not_placed", no_route: data.no_route, ended_at: event.at });
    this.#ended(data.call_id, false);
  }

  #ended(callId, ok) {
    const group = this.groups.get(callId);
    if (!group) return;
    this.groups.delete(callId);
    group.open--;
    if (ok) group.ok++;
    else group.bad++;
    if (!group.open && group.track === 0) this.books.callsEnded(group.ok, group.bad);
  }

  on_question_answered(event, data) {
    const entry = this.questions.get(data.question_id);
    if (entry) this.#change(entry, { answer: data.answer, by: data.by, authenticated: data.authenticated, answered_at: event.at });
  }

  on_question_expired(event, data) {
    const entry = this.questions.get(data.question_id);
    if (entry) this.#change(entry, { expired_at: event.at });
  }

  on_wait_ended(event, data) {
    const entry = this.waits.get(data.reason);
    if (entry && !entry.ended_at) this.#change(entry, { ended_at: event.at });
  }

  on_wait_started(event, data) {
    const entry = this.waits.get(data.reason);
    if (!entry || entry.ended_at) this.waits.set(data.reason, this.#add(event, "wait", { reason: data.reason }));
  }

  on_episode_started(event, data) {
    if (data.episode > 1) this.#mark(event, `episode ${data.episode} begins`);
    this.books = new PlanBooks();
  }

  on_episode_ended(event, data) {
    const end = data.end?.completed?.result?.message ?? data.end?.failed?.error ?? "";
    this.#mark(event, `episode ${data.episode} is over: ${end}`);
  }

  on_fell_asleep(event, data) {
    this.#mark(event, data.wake_at_ms ? `sleeps until ${new Date(data.wake_at_ms).toLocaleString()}` : "sleeps until it is woken");
  }

  on_wake_kept(event) {
    this.#mark(event, "a wake came while it was awake: another episode follows");
  }

  on_noted(event, data) {
    this.#add(event, "note", { code: data.code, message: data.message });
  }

  on_task_completed(event, data) {
    if (data.result.success !== false) this.books.completed();
    this.#add(event, "end", { status: data.result.success === false ? "failed" : "completed", message: data.result.message });
  }

  on_task_failed(event, data) {
    this.#add(event, "end", { status: "failed", message: data.error, code: data.code });
  }

  on_task_cancelled(event, data) {
    this.#add(event, "end", { status: "cancelled", message: `${data.reason} (by ${data.by})` });
  }

  /** Questions that nobody answered yet. */
  openQuestions() {
    return [...this.questions.values()].filter((question) => question.answer === undefined && !question.expired_at);
  }
}
