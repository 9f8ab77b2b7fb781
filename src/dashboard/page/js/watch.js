// Reading one task and staying with it: its journal from the start, then each event as it comes.
import { signal, useEffect, useMemo } from "./dom.js";
import { get } from "./api.js";
import { Journal } from "./journal.js";
import { onTask, resets, takeTask, tasks } from "./store.js";

const PAGE = 500;

class Watch {
  constructor(id) {
    this.id = id;
    this.journal = new Journal();
    this.changed = signal(0);
    this.problem = signal(null);
    this.read = signal(false);
    this.ahead = [];
    this.busy = false;
    this.wanted = false;
  }

  /** Reads on from the last event; a wish that comes meanwhile is done afterwards. */
  async catchUp() {
    this.wanted = true;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.wanted) {
        this.wanted = false;
        takeTask(await get(`/tasks/${this.id}`));
        for (let more = true; more; ) {
          const page = await get(`/tasks/${this.id}/events?after=${this.journal.last}&limit=${PAGE}`);
          for (const event of page.items) this.journal.take(event);
          more = Boolean(page.next_cursor);
          this.changed.value++;
        }
        this.#takeAhead();
      }
      this.problem.value = null;
      this.read.value = true;
    } catch (problem) {
      // What was read stays; only a task that does not exist is told at once.
      if (!this.read.value || problem.status) this.problem.value = problem;
    } finally {
      this.busy = false;
    }
  }

  #takeAhead() {
    this.ahead = this.ahead.filter((event) => event.seq > this.journal.last).sort((a, b) => a.seq - b.seq);
    while (this.ahead.length && this.journal.take(this.ahead[0])) this.ahead.shift();
    if (this.ahead.length) this.wanted = true;
    this.changed.value++;
  }

  take(event) {
    if (!this.busy && this.journal.take(event)) {
      this.changed.value++;
      return;
    }
    this.ahead.push(event);
    this.catchUp();
  }
}

/** The task, its journal, and whether it was read. The page is drawn again at each change. */
export function useTask(id) {
  const watch = useMemo(() => new Watch(id), [id]);
  useEffect(() => {
    const stop = onTask(id, (event) => watch.take(event));
    return stop;
  }, [watch]);
  useEffect(() => {
    watch.catchUp();
  }, [watch, resets.value]);
  watch.changed.value;
  return { task: tasks.get(id), journal: watch.journal, read: watch.read.value, problem: watch.problem.value };
}
