// The books of a plan as the journal tells them: a numbered list with its cursor, a tree of goals, or steps with
// dependencies. The same rules as the server's fold (src/domain/work), as far as they can be seen.

const essence = (text) => text.toLowerCase().split(/[\s.,;:*`"]+/).filter(Boolean).join(" ");

export class PlanBooks {
  constructor() {
    /** `list`, `goals`, `plan`, `words` or none. */
    this.kind = null;
    this.items = [];
    this.cursor = 0;
    this.objectives = [];
    this.steps = [];
    this.goal = "";
    this.by = "model";
    this.review = null;
    this.words = "";
  }

  /** Takes an advance in, and gives what of it people should read in the timeline. */
  advance(advance, at) {
    switch (advance.advance) {
      case "list_adopted":
        this.kind = "list";
        this.by = advance.by;
        this.items = advance.items.map((text) => ({ text, state: "open", ok: 0 }));
        return `a plan of ${advance.items.length} items is followed`;
      case "list_rewritten":
        this.#rewrite(advance.items);
        return "the rest of the plan was written anew";
      case "goals_adopted":
        this.kind = "goals";
        this.by = advance.by;
        this.#objectives(advance.objectives);
        return `the goal is broken down into ${advance.objectives.length} objectives`;
      case "goals_replanned":
        for (const task of this.subtasks()) if (task.state !== "done" && advance.objectives.length) task.state = "replaced";
        this.#objectives(advance.objectives);
        return "what remains of the goal was planned again";
      case "subtask_claimed":
        return "";
      case "subtask_refused":
        return `not taken as complete: ${advance.why}`;
      case "subtask_marked": {
        const current = this.subtasks().find((task) => task.state === "open");
        if (current) Object.assign(current, { state: advance.success ? "done" : "failed", reason: advance.reason });
        return `subtask ${advance.success ? "complete" : "failed"}: ${advance.reason}`;
      }
      case "template_refused":
        return `the ready plan "${advance.template}" cannot be carried out here: ${advance.problems.join("; ")}`;
      case "compacted":
        return `steps up to ${advance.upto_step} are shown to models as facts from now on`;
      case "plan":
        return this.#plan(advance, at);
      default:
        return "";
    }
  }

  subtasks() {
    return this.objectives.flatMap((objective) => objective.subtasks);
  }

  #objectives(list) {
    this.objectives.push(...list.map((one) => ({
      text: one.description,
      subtasks: one.subtasks.map((task) => ({ text: task.description, tool: task.tool, on: task.on, state: "open" })),
    })));
  }

  #plan(move, at) {
    const step = (id) => this.steps.find((one) => one.id === id);
    switch (move.plan_move) {
      case "adopted":
        this.kind = "plan";
        this.goal = move.plan.goal;
        this.by = move.plan.made_by ?? "model";
        for (const one of this.steps) if (one.state === "waiting") one.state = "skipped";
        this.steps.push(...move.plan.steps.map((one) => ({ ...one, state: "waiting" })));
        return `a plan of ${move.plan.steps.length} steps is followed`;
      case "step_begun":
        if (step(move.step)) Object.assign(step(move.step), { state: "running", started_at: at });
        return "";
      case "step_settled": {
        const one = step(move.step);
        const { settled, error, from } = move.settled;
        if (one) Object.assign(one, { state: settled === "failed" ? "failed" : "done", error, from, ended_at: at });
        for (const id of move.skips ?? []) if (step(id)?.state === "waiting") Object.assign(step(id), { state: "skipped", because: move.step });
        return settled === "failed" ? `step ${move.step} of the plan failed: ${error}` : `step ${move.step} of the plan is done`;
      }
      case "reviewed":
        this.review = move.review;
        return `review: ${move.review.achieved ? "achieved" : "not achieved"}. ${move.review.message}`;
      case "refused":
        return `no plan that can be carried out: ${move.problems.join("; ")}`;
      default:
        return "";
    }
  }

  /** What was read out of an answer: only turns of a numbered list move its cursor. */
  read(read) {
    if (this.kind !== "list" || read.read !== "react" || read.problems?.length) return;
    const done = read.item_done;
    if (done !== undefined && done !== null) {
      const item = this.items[this.cursor];
      const meant = done === "current" || done?.number === this.cursor + 1;
      if (meant && item?.ok) this.#leave(this.cursor + 1);
      else if (meant && item) item.said = true;
    }
    if (read.item > this.cursor + 1 && read.item <= this.items.length) this.#leave(read.item - 1);
  }

  #leave(upto) {
    for (const item of this.items.slice(this.cursor, upto)) item.state = item.ok ? "done" : "skipped";
    this.cursor = upto;
  }

  callsEnded(ok, bad) {
    const item = this.kind === "list" ? this.items[this.cursor] : undefined;
    if (!item) return;
    item.ok += ok;
    if (item.said && ok && !bad) this.#leave(this.cursor + 1);
    else item.said = false;
  }

  /** A final answer that was taken says that the item at the cursor is done, if anything was done for it. */
  completed() {
    if (this.kind === "list" && this.items[this.cursor]?.ok) this.#leave(this.cursor + 1);
  }

  #rewrite(texts) {
    const settled = this.items.slice(0, this.cursor);
    const current = this.items[this.cursor];
    let same = 0;
    while (same < settled.length && same < texts.length && essence(settled[same].text) === essence(texts[same])) same++;
    const rest = texts.slice(same).map((text) => ({ text, state: "open", ok: 0 }));
    if (current && rest[0] && essence(current.text) === essence(rest[0].text)) rest[0] = current;
    this.items = [...settled, ...rest];
  }

  /** A planner without books keeps its plan in words, in front of its directive. */
  said(role, content) {
    if (this.kind && this.kind !== "words") return;
    const found = role === "planner" ? /^PLAN:[ \t]*\n?([\s\S]*?)(?=^DIRECTIVE:|$(?![\s\S]))/m.exec(content ?? "") : null;
    if (!found?.[1].trim()) return;
    this.kind = "words";
    this.words = found[1].trim();
  }
}
