import { Server, browser, open, until, pause, endAll, axe } from "./lib.mjs";
const out = "/tmp/dash/shots";
let b;
try {
  const server = await Server.start();
  b = await browser();
  const { page, wrong } = await open(b, server);
  const shot = async (name, p = page) => { await pause(300); await p.screenshot({ path: `${out}/${name}.png` }); };
  await page.goto(server.origin + "/");
  await page.waitForSelector(".empty", { timeout: 8000 }).catch((e) => console.log("no empty", e.message));
  console.log((await page.locator("body").innerText()).slice(0, 600));
  await shot("fleet-empty");
  server.computers(3);
  server.computers(2, { prefix: "miner-", kind: "turtle" });
  await page.waitForSelector(".t-fleet .space .row", { timeout: 30000 });
  await pause(4000);
  await shot("fleet");
  await server.ask("POST", "/tools/call", { command: "turtle_status", client_id: "miner-1", args: {} });
  const made = await server.ask("POST", "/tasks", { prompt: "Write a greeting on this computer and take the old one away.\nAsk me for the name.", client_id: "sim-1", interactive: true });
  await page.goto(`${server.origin}/#/tasks/${made.task_id}`);
  await pause(600); await shot("task-thinking");
  await page.waitForSelector(".asked", { timeout: 20000 });
  await shot("task-asks");
  await page.goto(server.origin + "/#/inbox"); await shot("inbox-question");
  await page.fill(".asked input", "greeting");
  await page.click(".asked button[type=submit]");
  await page.waitForSelector(".consent", { timeout: 20000 });
  await shot("inbox-consent");
  await page.goto(`${server.origin}/#/chat/${made.task_id}`); await pause(500); await shot("chat");
  for (const p of ["tasks", "commands", "new", "agents", "agents/code_job", "agents/+new", "models", "fleet"]) { await page.goto(`${server.origin}/#/${p}`); await pause(900); await shot(p.replace("/", "-")); console.log(p, await axe(page)); }
  await page.goto(`${server.origin}/#/tasks/${made.task_id}`); await pause(700); await shot("task");
  console.log("task", await axe(page));
  await page.goto(server.origin + "/#/fleet?computer=miner-1"); await pause(700); await shot("computer"); console.log("computer", await axe(page));
  console.log(wrong);
} catch (e) { console.log(e); } finally { await b?.close(); await endAll(); }
