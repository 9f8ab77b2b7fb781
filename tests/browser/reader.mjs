// Modules of the page that need no browser, tried without one.
import { EventReader } from "../../src/dashboard/page/js/sse.js";
import { PlanBooks } from "../../src/dashboard/page/js/planbooks.js";

export const Reader = {
  /** Whatever way a stream is cut, the same events come out; and plans move as the server's fold moves them. */
  async selfTest(must) {
    const stream = "id: 1\n: hello\r\n\r\nevent: event\nid: 7\ndata: {\"a\":\ndata: 1}\n\nid: 8\rdata: x\r\revent: reset\ndata: {}\n\n";
    const read = (cut) => {
      const reader = new EventReader();
      const pieces = [];
      for (let at = 0; at < stream.length; at += cut) pieces.push(...reader.take(stream.slice(at, at + cut)));
      return JSON.stringify(pieces);
    };
    const whole = read(stream.length);
    must(whole, whole === JSON.stringify([{ name: "", data: "", id: "1" }, { name: "event", data: '{"a":\n1}', id: "7" }, { name: "message", data: "x", id: "8" }, { name: "reset", data: "{}" }]));
    for (let cut = 1; cut < stream.length; cut++) must(`cut every ${cut}: ${read(cut)}`, read(cut) === whole);

    const list = new PlanBooks();
    list.advance({ advance: "list_adopted", items: ["Read /a.lua", "fix it", "test"], by: "model" });
    list.callsEnded(1, 0);
    list.read({ read: "react", item: 2 });
    list.callsEnded(1, 0);
    list.advance({ advance: "list_rewritten", items: ["read /a.lua.", "Fix it", "write b", "test"], step: 4 });
    must("a rewritten plan keeps what is settled", list.items.map((item) => item.text).join() === "Read /a.lua,fix it,write b,test" && list.items[0].state === "done" && list.cursor === 1 && list.items[1].ok === 1);

    const plan = new PlanBooks();
    plan.advance({ advance: "plan", plan_move: "adopted", plan: { goal: "g", steps: [{ id: 1, action: "read_file" }, { id: 2, action: "shell", depends_on: [1] }] } }, "t");
    plan.advance({ advance: "plan", plan_move: "step_begun", step: 1 }, "t");
    plan.advance({ advance: "plan", plan_move: "step_settled", step: 1, settled: { settled: "failed", error: "gone" }, skips: [2] }, "t");
    must("a failed step skips those that need it", plan.steps[0].state === "failed" && plan.steps[1].state === "skipped" && plan.steps[1].because === 1);

    const goals = new PlanBooks();
    goals.advance({ advance: "goals_adopted", objectives: [{ description: "o", subtasks: [{ description: "a" }, { description: "b" }] }] });
    goals.advance({ advance: "subtask_marked", success: true, reason: "seen" });
    goals.advance({ advance: "goals_replanned", objectives: [{ description: "p", subtasks: [{ description: "c" }] }] });
    must("a new plan of goals keeps what is done", goals.subtasks().map((task) => task.state).join() === "done,replaced,open");
  },
};
