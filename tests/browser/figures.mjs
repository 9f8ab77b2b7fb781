// Figures: 500 computers and 10,000 tasks in the journal; time to the first row, and frame times while about 100 events a
// second arrive. `docs/dashboard.md` has the latest. CCFLEET_COMPUTERS and CCFLEET_TASKS say otherwise.
import { Server, browser, endAll, open, pause, until } from "./lib.mjs";

const COMPUTERS = Number(process.env.CCFLEET_COMPUTERS ?? 500);
const TASKS = Number(process.env.CCFLEET_TASKS ?? 10_000);
const WATCH_MS = 10_000;
/** A call is a task of its own, with about this many events. */
const EVENTS_A_CALL = 6;

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);

async function main() {
  const server = await Server.start();
  server.computers(COMPUTERS);
  let start = Date.now();
  await until(`${COMPUTERS} computers are online`, async () => (await server.ask("GET", "/computers")).items.filter((one) => one.online).length >= COMPUTERS, 900_000);
  console.error(`${COMPUTERS} computers after ${Math.round((Date.now() - start) / 1000)} s`);

  let made = 0;
  const refused = [];
  const call = () => server.ask("POST", "/tools/call", { command: "fs_list", client_id: `sim-${(made++ % COMPUTERS) + 1}`, args: { path: "/" } }).catch((error) => {
    // A machine that is short of time lets single requests fail; that is counted, not hidden.
    refused.push(error.message);
  });
  start = Date.now();
  await Promise.all(Array.from({ length: 16 }, async () => {
    while (made < TASKS) await call();
  }));
  console.error(`${made} tasks after ${Math.round((Date.now() - start) / 1000)} s`);

  const launched = await browser();
  row("page", "first row, ms", "frame, median ms", "p95", "p99", "longest", "frames over 50 ms", "events/s");
  row(...Array(8).fill("---"));
  for (const place of ["fleet", "tasks", "commands"]) {
    const { page, context, wrong } = await open(launched, server);
    await page.addInitScript(() => {
      const seen = new MutationObserver(() => {
        if (document.querySelector(".table .space .row")) {
          globalThis.firstRow = performance.now();
          seen.disconnect();
        }
      });
      seen.observe(document, { childList: true, subtree: true });
    });
    await page.goto(`${server.origin}/#/${place}`);
    if (place !== "commands") await page.waitForSelector(".table .space .row");
    const firstRow = await page.evaluate(() => globalThis.firstRow);

    let live = true;
    let calls = 0;
    const began = Date.now();
    const load = Array.from({ length: 4 }, async () => {
      while (live) {
        const due = began + (calls++ * 1000 * EVENTS_A_CALL) / 100;
        await pause(Math.max(0, due - Date.now()));
        if (live) await call();
      }
    });
    await pause(2000);
    const frames = await page.evaluate((ms) => new Promise((done) => {
      const times = [];
      let last = performance.now();
      const end = last + ms;
      const step = (now) => {
        times.push(now - last);
        last = now;
        if (now < end) requestAnimationFrame(step);
        else done(times);
      };
      requestAnimationFrame(step);
    }), WATCH_MS);
    live = false;
    await Promise.all(load);
    const rate = Math.round((calls * EVENTS_A_CALL * 1000) / (Date.now() - began));
    report(place, firstRow, frames, rate);

    if (place === "tasks") {
      const scrolled = await page.evaluate((ms) => new Promise((done) => {
        const frame = document.querySelector(".t-tasks .frame");
        const times = [];
        let last = performance.now();
        const end = last + ms;
        const step = (now) => {
          times.push(now - last);
          last = now;
          frame.scrollTop += 120;
          if (now < end) requestAnimationFrame(step);
          else done(times);
        };
        requestAnimationFrame(step);
      }), WATCH_MS);
      report("tasks, scrolled 120 px a frame", undefined, scrolled, 0);
    }
    if (wrong.length) throw new Error(wrong.join("\n"));
    await context.close();
  }
  console.error(`${refused.length} of ${made} requests failed${refused.length ? `, the last with: ${refused.at(-1)}` : ""}`);
}

function report(name, firstRow, frames, rate) {
  const sorted = [...frames].sort((a, b) => a - b);
  row(name, firstRow === undefined ? "" : Math.round(firstRow), quantile(sorted, 0.5).toFixed(1), quantile(sorted, 0.95).toFixed(1), quantile(sorted, 0.99).toFixed(1), sorted.at(-1).toFixed(1), `${frames.filter((ms) => ms > 50).length} of ${frames.length}`, rate);
}

try {
  await main();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await endAll();
}
