// A task as a conversation: what was wished, what it does and asks, what came of it.
import { html, useEffect, useRef } from "./dom.js";
import { tasksChanged, stream } from "./store.js";
import { Answering } from "./answer.js";
import { TaskForm } from "./new.js";
import { Progress, Refusal, Tag } from "./parts.js";
import { useTask } from "./watch.js";
import { ENDED, argsLine, duration, plain, several } from "./words.js";

export function Chat({ id }) {
  tasksChanged.value;
  const { task, journal, problem } = useTask(id);
  const end = useRef();
  const seen = useRef(true);
  useEffect(() => {
    if (!end.current) return undefined;
    const watch = new IntersectionObserver(([one]) => {
      seen.current = one.isIntersecting;
    }, { rootMargin: "200px" });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [Boolean(task)]);
  useEffect(() => {
    if (seen.current) end.current?.scrollIntoView({ block: "end" });
  }, [journal.last]);
  if (problem && !task) return html`<h1>Conversation</h1><${Refusal} problem=${problem} />`;
  if (!task) return html`<h1>Conversation</h1><p class="loading">Reading…</p>`;
  const ended = ENDED.has(task.status);
  const lines = conversation(journal);
  const thinking = journal.entries.findLast((entry) => entry.type === "consult" && !entry.answer && !entry.failure);
  return html`
    <div class="title"><h1>Conversation</h1><p class="sum"><${Tag} of="task" state=${task.status} more=${task.wait_reason} /> <span>${task.kind}</span>${task.client_id ? html` <span>on ${task.client_id}</span>` : ""} <${Progress} value=${ended ? undefined : task.progress} /></p>
      <div class="buttons"><a class="button" href="#/tasks/${id}">Timeline</a></div></div>
    <ol class="chat" aria-label="Conversation" aria-live="polite">
      <li class="mine"><p class="pre">${task.prompt}</p></li>
      ${lines.map((line) => html`<li key=${line.key} class=${line.who}>${line.body}</li>`)}
      ${thinking && !ended ? html`<li key="live" class="its quiet" aria-live="off"><${Thinking} id=${id} entry=${thinking} /></li>` : ""}
      ${task.result ? html`<li class="its result ${task.result.success ? "ok" : "bad"}"><strong>${task.result.success ? "Done." : "Ended without success."}</strong><p class="pre">${task.result.message}</p></li>` : ""}
      ${task.error ? html`<li class="its result bad"><strong>Failed.</strong><p class="pre">${task.error}</p></li>` : ""}
      ${task.status === "cancelled" ? html`<li class="its result">Cancelled.</li>` : ""}
    </ol>
    ${journal.openQuestions().map((question) => html`<${Answering} key=${question.question_id} question=${question} />`)}
    <p ref=${end} class="end"></p>
    ${ended ? html`<${TaskForm} compact />` : html`<p class="help">${task.usage.calls ? `${several(task.usage.calls, "call")} so far. ` : ""}You can leave this page: the task goes on.</p>`}`;
}

function Thinking({ id, entry }) {
  const { text, thinking } = stream(id, entry.seq).value;
  return html`<p class="dim">${entry.role} is thinking…</p>${text || thinking ? html`<pre class="tokens">${(text || thinking).slice(-600)}</pre>` : ""}`;
}

/** The lines that people want to read; the timeline has everything. */
function conversation(journal) {
  const lines = [];
  for (const entry of journal.entries) {
    if (entry.type === "call") {
      const failed = entry.report?.error ?? entry.no_route?.message;
      lines.push({ key: entry.key, who: "its quiet", body: html`<p>${entry.explanation || plain(entry.tool)} <${Tag} of="call" state=${entry.state} /> <span class="dim"><code>${entry.tool}</code> ${argsLine(entry.args, 80)} ${duration(entry.report?.duration_ms)}</span></p>${failed ? html`<p class="bad-text">${failed}</p>` : ""}` });
    } else if (entry.type === "question" && (entry.answer !== undefined || entry.expired_at)) {
      // An open one stands below, where it can be answered.
      lines.push({ key: entry.key, who: "its", body: html`<p>${entry.question}</p>${entry.why ? html`<p class="dim">${entry.why}</p>` : ""}` });
      if (entry.answer !== undefined) lines.push({ key: `${entry.key}a`, who: "mine", body: html`<p>${entry.answer}</p><p class="dim">${entry.by}</p>` });
      else lines.push({ key: `${entry.key}x`, who: "its quiet", body: html`<p class="dim">Nobody answered in time.</p>` });
    } else if (entry.type === "guard") {
      lines.push({ key: entry.key, who: "its quiet", body: html`<p class="dim">Held back (${plain(entry.guard)}): ${entry.evidence.split("\n", 1)[0]}</p>` });
    } else if (entry.type === "mark") {
      lines.push({ key: entry.key, who: "its quiet", body: html`<p class="dim">${entry.text}</p>` });
    }
  }
  return lines;
}
