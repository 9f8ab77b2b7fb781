// One task of each strategy that keeps a plan, as the page shows it while it runs: what is done, where the cursor stands,
// and everything done at the end. Each has a server of its own, because a scripted model says the same to everybody.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Server, folder, open, until } from "./lib.mjs";

const call = (tool, args) => JSON.stringify({ tool, args });
const mark = call("mark_subtask_complete", { success: true, reason: "seen on the disk" });
/** A pause before an answer in which the page is looked at. */
const SLOW = 4000;

const SCRIPTS = {
  numbered: {
    answers: [
      ["1. write /count.lua\n2. run /count.lua"],
      ["Thought: it is missing\nAction: fs_write\nAction Input: path=/count.lua\ncontent=\n```lua\nprint(3)\n```"],
      ["Item done\nAction: run_program\nAction Input: path=/count.lua"],
      ["Thought: it printed 3\nFinal Answer: it counts", SLOW],
    ],
    kind: "numbered",
    prompt: "Write /count.lua, which prints 3",
    items: 2,
    result: "it counts",
  },
  goals: {
    answers: [
      [JSON.stringify({ objectives: [{ description: "Two files lie there", subtasks: [
        { description: "Write /one.lua, which prints 1", tool: "fs_write", targets: ["/one.lua"] },
        { description: "Write /two.lua, which prints 2", tool: "fs_write", targets: ["/two.lua"] }] }] })],
      [call("fs_write", { path: "/one.lua", content: "print(1)" })],
      [mark],
      [call("fs_write", { path: "/two.lua", content: "print(2)" })],
      [mark, SLOW],
    ],
    kind: "goals",
    prompt: "Write /one.lua and /two.lua",
    items: 2,
    result: "goal achieved",
  },
  plan: {
    answers: [
      [JSON.stringify({ goal: "slow.lua ran and was copied", tasks: [
        { id: 1, action: "run_program", target: "/slow.lua", reason: "it has to run", depends_on: [] },
        { id: 2, action: "shell", target: "copy /slow.lua /kept.lua", reason: "keep it", depends_on: [1] }] })],
    ],
    kind: "plan_job",
    prompt: "Run /slow.lua and keep a copy of it",
    files: { "/slow.lua": `sleep(${SLOW / 1000})\nprint("ran")` },
    items: 2,
  },
};

function scenario(answers) {
  const text = answers.map(([said, delay]) => `[[planner]]\ntext = ${JSON.stringify(said)}\n${delay ? `delay_ms = ${delay}\n` : ""}`);
  return `description = "a task with a plan"\n\n${text.join("\n")}`;
}

/** Runs one of them and looks at its plan; `look` gets the page while the second item is current, and at the end. */
export async function planned(launched, name, { must, visible, look }) {
  const one = SCRIPTS[name];
  const script = join(folder, `${name}.toml`);
  writeFileSync(script, scenario(one.answers));
  const server = await Server.start(`provider = "scripted"\nscript = ${JSON.stringify(script)}\n`);
  const computers = server.computers(1, { prefix: `${name}-` });
  const { page, context, wrong } = await open(launched, server);
  await page.goto(`${server.origin}/`);
  await visible(page, `.t-fleet a[href$="computer=${name}-1"]`, 60_000);
  for (const [path, content] of Object.entries(one.files ?? {})) {
    await server.ask("POST", "/tools/call", { client_id: `${name}-1`, command: "fs_write", args: { path, content } });
  }
  const made = await server.ask("POST", "/tasks", { prompt: one.prompt, kind: one.kind, client_id: `${name}-1` });
  await page.goto(`${server.origin}/#/tasks/${made.task_id}`);
  await visible(page, ".plan .current");
  const current = () => page.locator(".plan li.current").allInnerTexts();
  // `plan` runs its first step slowly; the others are slow before they end.
  const place = name === "plan" ? "/slow.lua" : name === "goals" ? "/two.lua" : "run /count.lua";
  await until(`the cursor stands at ${place}`, async () => (await current()).length === 1 && (await current())[0].includes(place));
  // What happened so far stands there while the task runs, with how it ended.
  const calls = page.locator(".timeline .entry.call");
  await until("the timeline follows", async () => (await calls.count()) >= (name === "plan" ? 1 : 2), SLOW / 2);
  // The server's own look for what the task names comes before it.
  const written = calls.filter({ hasText: "fs_write" }).first();
  if (name !== "plan") await until("the first call's end is shown", async () => (await written.innerText()).toLowerCase().includes("done"), SLOW / 2);
  await look(page, `${name}-running`);
  await visible(page, ".outcome");
  const outcome = await page.locator(".outcome").innerText();
  must(`it is done: ${outcome}`, (await page.locator(".outcome.ok").count()) === 1);
  if (one.result) must(`its result: ${outcome}`, outcome.includes(one.result));
  must("no cursor is left", (await page.locator(".plan .current").count()) === 0);
  const done = await page.locator(".plan li .tag.ok").count();
  must(`${one.items} items are done, not ${done}`, done === one.items);
  await look(page, `${name}-done`);
  must(wrong.join("\n"), !wrong.length);
  await context.close();
  await computers.end();
  await server.run.end();
}
