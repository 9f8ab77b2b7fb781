// The dashboard, driven in a real browser against the real program: what people do with it, and that it keeps its place.
// Each check is a sentence; one that fails ends the run with its name. `run.sh` calls this.
import { AXE, Server, axe, browser, endAll, haltingModel, open, pause, until } from "./lib.mjs";
import { Reader } from "./reader.mjs";
import { planned } from "./strategies.mjs";

const shots = process.env.CCFLEET_SHOTS;
let number = 0;

async function check(sentence, work) {
  const start = Date.now();
  try {
    await work();
  } catch (error) {
    error.message = `${sentence}: ${error.message}`;
    throw error;
  }
  number++;
  console.log(`ok ${number} - ${sentence} (${Date.now() - start} ms)`);
}

function must(what, holds) {
  if (!holds) throw new Error(what);
}

async function shot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

const visible = (page, selector, within = 30_000) => page.locator(selector).first().waitFor({ state: "visible", timeout: within });

async function main() {
  await Reader.selfTest(must);
  const server = await Server.start();
  const launched = await browser();
  const { page, wrong } = await open(launched, server);
  const at = (place) => `${server.origin}/#/${place}`;
  let task;

  await check("without computers the page says what to type in the game, with this server's address", async () => {
    await page.goto(`${server.origin}/`);
    await visible(page, ".empty");
    const line = await page.locator(".empty .line code").innerText();
    must(line, line === `wget run ${server.origin}/install.lua`);
    await page.locator(".empty .line button").click();
    must("the line is copied", (await page.evaluate(() => navigator.clipboard.readText())) === line);
    must("the hint about http.rules", (await page.locator(".empty").innerText()).includes("http.rules"));
    await shot(page, "empty");
  });

  await check("the connection is live", () => visible(page, '.connection[data-state="live"]'));

  const computers = server.computers(3);
  server.computers(1, { prefix: "miner-", kind: "turtle" });
  await check("a computer that connects appears by itself", async () => {
    await visible(page, '.t-fleet a[href$="computer=sim-1"]', 60_000);
    await until("all four are ready", async () => (await page.locator(".t-fleet .space .tag.ok").count()) === 4, 60_000);
  });

  await check("a turtle's fuel and position are shown when a call told them", async () => {
    await page.locator('a[href$="computer=miner-1"]').click();
    await visible(page, "dialog[open]");
    await page.getByRole("button", { name: "Ask the turtle" }).click();
    await until("fuel 1000", async () => (await page.locator("dialog").innerText()).includes("fuel 1000"));
    await page.keyboard.press("Escape");
    await until("the dialog is closed", async () => (await page.locator("dialog").count()) === 0);
    await shot(page, "fleet");
  });

  await check("a task can be made with the keyboard alone, and its conversation opens", async () => {
    await page.evaluate(() => document.activeElement?.blur());
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press("Tab");
      const href = await page.evaluate(() => document.activeElement?.getAttribute("href"));
      if (href === "#/new") break;
    }
    await page.keyboard.press("Enter");
    await visible(page, "#prompt");
    for (let presses = 0; presses < 40 && (await page.evaluate(() => document.activeElement?.id)) !== "prompt"; presses++) await page.keyboard.press("Tab");
    await page.keyboard.type("Write a greeting on this computer and take it away again.");
    await page.keyboard.press("Tab");
    // A kind that may end without a test.
    await page.keyboard.type("general_agent");
    await page.keyboard.press("Tab");
    must("the choice of a computer is next", (await page.evaluate(() => document.activeElement?.id)) === "computer");
    await page.keyboard.type("sim-1");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await visible(page, ".chat");
    task = page.url().split("/").at(-1);
    must(`a task's address: ${page.url()}`, task.startsWith("tsk_"));
    const made = await server.ask("GET", `/tasks/${task}`);
    must("it is for sim-1", made.client_id === "sim-1");
  });

  await check("the task asks its question, and the title says that somebody is wanted", async () => {
    await visible(page, ".asked");
    must("the question", (await page.locator(".asked .question").innerText()) === "What shall the file be called?");
    await until("its number stands in the title", async () => (await page.title()).startsWith("(1) "));
    await shot(page, "chat-question");
  });

  await check("a draft outlives a reload", async () => {
    await page.fill(".asked input", "greeting");
    await page.reload();
    await visible(page, ".asked");
    must("the draft", (await page.inputValue(".asked input")) === "greeting");
  });

  await check("an answer lets the task go on to the call that needs consent", async () => {
    await page.keyboard.press("Escape");
    await page.locator(".asked button[type=submit]").click();
    await visible(page, ".consent");
    await page.goto(at("inbox"));
    await visible(page, ".consent");
    must("its arguments are shown", (await page.locator(".consent pre").innerText()).includes("delete /notes/greeting.lua"));
    await shot(page, "inbox");
  });

  await check("consent is refused until somebody shows the operator's key, then the call is made", async () => {
    await page.getByRole("button", { name: "Allow" }).click();
    await visible(page, "dialog[open]");
    await page.fill("#token", "a-wrong-key-that-is-long-enough-to-be-one");
    await page.locator("dialog button[type=submit]").click();
    await visible(page, "#token-error");
    await page.fill("#token", server.key());
    await page.locator("dialog button[type=submit]").click();
    await until("nothing waits for anybody", async () => (await page.locator(".asked").count()) === 0 && !(await page.title()).startsWith("("));
    must("the key is in no address", !page.url().includes(server.key().slice(0, 8)));
  });

  await check("the task is watched to its end, with the result at the top", async () => {
    await page.goto(at(`tasks/${task}`));
    await visible(page, ".outcome.ok");
    const text = await page.locator(".outcome").innerText();
    must(text, text.includes("The greeting was written"));
    must("its plan", (await page.locator(".plan").innerText()).includes("Ask which name is wanted"));
    const said = await page.locator(".timeline").innerText();
    for (const part of ["ASK USER", "fs_list", "fs_write", "delete /notes/greeting.lua"]) must(part, said.replaceAll("_", " ").toLowerCase().includes(part.replaceAll("_", " ").toLowerCase()));
    await page.locator(".entry.consult summary", { hasText: "Prompt in full" }).first().click();
    await until("the whole prompt", async () => (await page.locator(".entry.consult pre").first().innerText()).includes("--- SYSTEM"));
    await shot(page, "task");
  });

  await check("a fork goes on behind the step that was chosen", async () => {
    await page.getByRole("button", { name: "Fork" }).click();
    await until("the steps are there", async () => (await page.locator("#fork-at option").count()) > 2);
    await page.selectOption("#fork-at", "1");
    await page.locator("dialog .primary").click();
    await until("the fork is shown", async () => !page.url().endsWith(task) && page.url().includes("tsk_"));
    await visible(page, 'a[href="#/tasks/' + task + '"]');
  });

  await check("cancel ends a task, after asking", async () => {
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.fill("#reason", "not wanted any more");
    await page.locator("dialog .danger").click();
    await visible(page, '.title .tag:has-text("cancelled")');
  });

  await check("the fleet is stopped with a clear state, and goes on", async () => {
    await page.goto(at("fleet"));
    await page.getByRole("button", { name: "Stop all" }).click();
    await visible(page, ".stopped");
    await until("each computer says so", async () => (await page.locator('.t-fleet .space .tag:has-text("stopped")').count()) === 4);
    await shot(page, "stopped");
    await page.getByRole("button", { name: "Resume all" }).click();
    await until("all are ready again", async () => (await page.locator(".t-fleet .space .tag.ok").count()) === 4);
  });

  await check("the log has the commands of the whole fleet, also those from before the page was opened", async () => {
    // A read, whose journal is one event.
    await server.ask("POST", "/tools/call", { command: "fs_list", client_id: "sim-1", args: { path: "/rom/help" } });
    await page.goto(at("commands"));
    await page.reload();
    const told = () => page.locator(".t-commands .space").innerText().catch(() => "");
    await until("the calls are there", async () => (await told()).includes("fs_list"));
    await until("also the read", async () => (await told()).includes("/rom/help"));
  });

  await check("a kind can be made; what the server refuses stands at its field", async () => {
    await page.goto(at("agents/+new"));
    await visible(page, "#k-kind");
    await page.fill("#k-kind", "watcher");
    await page.fill("#k-description", "Looks and tells");
    await page.fill("#k-rest", '{"memory": {"cut_to": -1}}');
    await page.getByRole("button", { name: "Save" }).click();
    await visible(page, "#k-rest-error");
    await page.fill("#k-rest", "");
    await page.fill("#k-budgets-steps", "12");
    await page.getByRole("button", { name: "Save" }).click();
    await until("it has an address of its own", async () => page.url().endsWith("agents/watcher"));
    const made = await server.ask("GET", "/kinds/watcher");
    must("its budget", made.budgets.steps === 12);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog .danger").click();
    await until("it is gone", async () => page.url().endsWith("#/agents"));
  });

  await check("models are shown with their state", async () => {
    await page.goto(at("models"));
    await visible(page, ".cards .tag");
    await visible(page, ".plot canvas");
    await shot(page, "models");
  });

  await check("after kill -9 of the server the page keeps its place and goes on by itself", async () => {
    const made = [];
    for (let n = 0; n < 150; n++) made.push(await server.ask("POST", "/tools/call", { command: "fs_list", client_id: `sim-${(n % 3) + 1}`, args: { path: "/" } }));
    await page.goto(at("tasks?kind=call"));
    await until("the list is there", async () => (await page.locator(".t-tasks .space .row").count()) > 10);
    await page.locator(".t-tasks .frame").evaluate((frame) => { frame.scrollTop = 1800; });
    await pause(300);
    const seen = () => page.locator(".t-tasks .frame").evaluate((frame) => ({ top: frame.scrollTop, text: [...frame.querySelectorAll(".row")].find((row) => row.offsetTop >= frame.scrollTop)?.querySelector("a")?.getAttribute("href") }));
    const before = await seen();
    await server.kill();
    await visible(page, ".banner");
    must("what it showed is still there", (await seen()).text === before.text);
    await server.again();
    await visible(page, '.connection[data-state="live"]', 60_000);
    await until("the banner is gone", async () => (await page.locator(".banner").count()) === 0);
    await pause(500);
    const after = await seen();
    must(`the same row is at the top: ${JSON.stringify(before)}, ${JSON.stringify(after)}`, after.text === before.text);
    must("the filter stays", page.url().includes("kind=call"));
    await until("computers are back", async () => (await server.ask("GET", "/computers")).items.filter((one) => one.online).length === 4, 60_000);
    const fresh = await server.ask("POST", "/tools/call", { command: "fs_list", client_id: "sim-1", args: { path: "/" } });
    await page.locator(".t-tasks .frame").evaluate((frame) => { frame.scrollTop = 0; });
    await visible(page, `.t-tasks a[href="#/tasks/${fresh.task_id}"]`);
  });

  await check("on a phone of 360 px every page fits, and the menu leads everywhere", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const place of ["fleet", "tasks", "new", "inbox", "commands", "agents", "agents/code_job", "models", `tasks/${task}`, `chat/${task}`]) {
      await page.goto(at(place));
      await pause(400);
      const [wide, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      must(`${place} is ${wide} px wide`, wide <= view);
      await shot(page, `phone-${place.replaceAll("/", "-")}`);
    }
    await page.getByRole("button", { name: "Menu" }).click();
    await page.locator('nav a[href="#/fleet"]').click();
    await visible(page, "h1:has-text('Fleet')");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await check("axe finds nothing serious on any page, in light and in dark", async () => {
    must("axe is there", AXE.length > 1000);
    const asked = await server.ask("POST", "/tasks", { prompt: "Ask me something.", client_id: "sim-2", kind: "general_agent", interactive: true });
    await until("it asks", async () => (await server.ask("GET", "/questions")).items.length > 0);
    const found = [];
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      for (const place of ["fleet", "fleet?computer=miner-1", "tasks", "new", "inbox", "commands", "agents", "agents/code_job", "models", `tasks/${task}`, `tasks/${asked.task_id}`, `chat/${task}`]) {
        await page.goto(at(place));
        await pause(500);
        for (const one of await axe(page)) found.push(`${theme} ${place}: ${one}`);
        await shot(page, `${theme}-${place.replaceAll(/[/?=]/g, "-")}`);
      }
    }
    must(found.join("\n"), !found.length);
  });

  await check("a theme that was chosen stays", async () => {
    await page.selectOption(".theme select", "light");
    await page.reload();
    await visible(page, ".brand");
    must("light", (await page.evaluate(() => document.documentElement.dataset.theme)) === "light");
  });

  await check("what a model says is shown word by word while it speaks", async () => {
    const model = await haltingModel("Let me think about it.\n\nDIRECTIVE: DO", "NE\nSUMMARY: said in two parts\n");
    const other = await Server.start(model.settings);
    const second = await open(launched, other);
    await second.page.goto(`${other.origin}/#/new`);
    await visible(second.page, '.connection[data-state="live"]');
    const made = await other.ask("POST", "/tasks", { prompt: "Say something.", kind: "inspect" });
    await second.page.goto(`${other.origin}/#/tasks/${made.task_id}`);
    await until("the first part", async () => (await second.page.locator(".live pre").innerText()).includes("Let me think"));
    model.release();
    await visible(second.page, ".outcome.ok");
    must("the result", (await second.page.locator(".outcome").innerText()).includes("said in two parts"));
    must("nothing provisional is left", (await second.page.locator(".live").count()) === 0);
    must(second.wrong.join("\n"), !second.wrong.length);
    await second.context.close();
  });

  for (const [strategy, what] of [["numbered", "list"], ["goals", "tree of goals"], ["plan", "steps of a plan"]]) {
    await check(`the ${what} of a running task: its cursor, and the timeline that follows`, () => planned(launched, strategy, { must, visible, look: shot }));
  }

  must(`computers ended: ${computers.said()}`, computers.child.exitCode === null);
  await check("nothing was logged as an error, and nobody but this server was asked", async () => must(wrong.join("\n"), !wrong.length));
}

try {
  await main();
  console.log(`${number} checks passed`);
} catch (error) {
  console.error(`NOT ok - ${error.message}`);
  process.exitCode = 1;
} finally {
  await endAll();
}
