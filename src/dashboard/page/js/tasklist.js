// A filtered list of tasks, newest first, read page by page as far as somebody scrolls, and kept up by the feed.
import { signal } from "./dom.js";
import { get, query } from "./api.js";
import { takeTask, tasks } from "./store.js";

const PAGE = 100;
/** Pages that are read in one go while a text filter finds nothing. */
const SEARCH_PAGE = 500;

export class TaskList {
  constructor(filter) {
    this.filter = filter;
    /** Ids, newest first; those behind `cursor` are not known yet. */
    this.ids = [];
    this.known = new Set();
    this.cursor = undefined;
    this.complete = false;
    this.busy = false;
    this.problem = signal(null);
    this.changed = signal(0);
  }

  fits(task) {
    const { status, kind, computer } = this.filter;
    return (!status || task.status === status) && (!kind || task.kind === kind) && (!computer || task.client_id === computer);
  }

  says(task) {
    const text = this.filter.q?.toLowerCase();
    return !text || `${task.prompt} ${task.task_id} ${task.owner} ${task.message ?? ""} ${task.client_id ?? ""}`.toLowerCase().includes(text);
  }

  /** Reads the next page; several wishes at once are one. */
  async more() {
    if (this.busy || this.complete || this.problem.peek()) return;
    this.busy = true;
    try {
      const { status, kind, computer, q } = this.filter;
      const page = await get(query("/tasks", { status, kind, client_id: computer, limit: q ? SEARCH_PAGE : PAGE, cursor: this.cursor }));
      for (const task of page.items) this.#add(takeTask(task), false);
      this.cursor = page.next_cursor;
      this.complete = !page.next_cursor;
    } catch (problem) {
      this.problem.value = problem;
    } finally {
      this.busy = false;
      this.changed.value++;
    }
  }

  #add(task, atTop) {
    if (this.known.has(task.task_id)) return;
    this.known.add(task.task_id);
    if (atTop) this.ids.unshift(task.task_id);
    else this.ids.push(task.task_id);
  }

  /** Takes in what the feed told since the last time, and gives the tasks to show. */
  shown() {
    // A task that is not known here is new, unless it stands behind the pages that were read.
    const newest = this.ids.length ? tasks.get(this.ids[0])?.created_at : "";
    const fresh = [];
    for (const task of tasks.values()) if (!this.known.has(task.task_id) && (this.complete || newest) && task.created_at >= newest && this.fits(task)) fresh.push(task);
    fresh.sort((a, b) => (a.created_at < b.created_at ? -1 : 1)).forEach((task) => this.#add(task, true));
    return this.ids.map((id) => tasks.get(id)).filter((task) => task && this.fits(task) && this.says(task));
  }

  /** Reads the newest pages again, as far as they were read before: nobody knows what was missed. */
  async again() {
    const before = Math.max(1, Math.ceil(this.ids.length / PAGE));
    const next = new TaskList(this.filter);
    for (let page = 0; page < before && !next.complete && !next.problem.peek(); page++) await next.more();
    if (next.problem.peek()) return;
    Object.assign(this, { ids: next.ids, known: next.known, cursor: next.cursor, complete: next.complete });
    this.problem.value = null;
    this.changed.value++;
  }
}
