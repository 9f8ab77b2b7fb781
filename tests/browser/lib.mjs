// What the browser tests stand on: the real program, simulated computers, and a browser that is told everything it must
// not do. Every process that is started here is ended here, by its id.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync, readFileSync, rmSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { createRequire } from "node:module";

const here = dirname(fileURLToPath(import.meta.url));
// The packages lie outside of the tree; run.sh says where.
const require = createRequire(join(process.env.CCFLEET_BROWSER_MODULES ?? here, "node_modules", "none.js"));
export const { chromium } = require("playwright-core");
export const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const PROGRAM = process.env.CCFLEET_PROGRAM ?? join(here, "../../target/debug/ccfleet");
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Everything that has to be ended, newest first. */
const ends = [];
export const atEnd = (end) => ends.unshift(end);

export async function endAll() {
  for (const end of ends.splice(0)) await end().catch((error) => console.error(`while ending: ${error.message}`));
}

export const folder = mkdtempSync(join(tmpdir(), "ccfleet-browser-"));
atEnd(async () => rmSync(folder, { recursive: true, force: true }));

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until `look` gives something, or says after `within` what was missing. */
export async function until(what, look, within = 30_000) {
  const start = Date.now();
  for (let last; ; ) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      last = error;
    }
    if (Date.now() - start > within) throw new Error(`not within ${within} ms: ${what}${last ? ` (${last.message})` : ""}`);
    await pause(50);
  }
}

function freePort() {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function run(name, args, environment = {}) {
  const child = spawn(PROGRAM, args, { env: { ...process.env, RUST_LOG: "warn", ...environment }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const out of [child.stdout, child.stderr]) out.on("data", (data) => {
    said = (said + data).slice(-8000);
  });
  const gone = new Promise((done) => child.once("exit", done));
  const end = async (signal = "SIGTERM") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const killer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await gone;
    clearTimeout(killer);
  };
  atEnd(() => end());
  return { child, end, said: () => `${name}: ${said}` };
}

/** One server that can be killed and started again at the same address, with the same data. */
export class Server {
  static async start(model = `provider = "scripted"\nscript = ${JSON.stringify(join(here, "scenario.toml"))}\n`) {
    const server = new Server();
    server.port = await freePort();
    server.origin = `http://127.0.0.1:${server.port}`;
    server.data = join(folder, `data-${server.port}`);
    server.config = join(folder, `config-${server.port}.toml`);
    writeFileSync(server.config, `[models.planner]\n${model}\n[models.executor]\n${model}\n[policy]\nconfirm_destructive = true\n`);
    await server.again();
    return server;
  }

  async again() {
    this.run = run("serve", ["serve", "--config", this.config, "--bind", `127.0.0.1:${this.port}`, "--data", this.data]);
    const ready = async () => this.run.child.exitCode !== null || (await fetch(`${this.origin}/readyz`)).ok;
    await until(`the server at ${this.origin} is ready`, ready, 60_000).catch((error) => {
      throw new Error(`${error.message}; ${this.run.said()}`);
    });
    if (this.run.child.exitCode !== null) throw new Error(`ended with ${this.run.child.exitCode}; ${this.run.said()}`);
  }

  kill() {
    return this.run.end("SIGKILL");
  }

  key() {
    return readFileSync(join(this.data, "operator.key"), "utf8").trim();
  }

  async ask(method, path, body, headers = {}) {
    const response = await fetch(`${this.origin}/api/v1${path}`, { method, headers: { "Content-Type": "application/json", ...headers }, body: body && JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.detail}`);
    return answer;
  }

  /** Simulated computers. */
  computers(count, { prefix = "sim-", kind = "computer", light = true } = {}) {
    return run("sim", ["sim", "--server", `ws://127.0.0.1:${this.port}/ws`, "--count", String(count), "--dir", join(folder, `disks-${prefix}`), "--prefix", prefix, "--kind", kind, "--reconnect", "1", ...(light ? ["--light"] : [])]);
  }
}

/** A model server that says the first part of its answer, and the rest when it is let. */
export async function haltingModel(first, rest) {
  let release;
  const released = new Promise((done) => {
    release = done;
  });
  const server = createHttpServer(async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const say = (delta, finish_reason = null) => response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "halting", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    say({ role: "assistant", content: first });
    await released;
    say({ content: rest });
    say({}, "stop");
    response.end("data: [DONE]\n\n");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { release, settings: `provider = "openai"\nbase_url = "http://127.0.0.1:${server.address().port}"\nmodel = "halting"\n` };
}

/** A browser with a profile of its own, that asks nobody but the server. */
export async function browser() {
  if (!existsSync(BROWSER)) throw new Error(`no ${BROWSER}`);
  const launched = await chromium.launch({
    executablePath: BROWSER, headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  atEnd(() => launched.close());
  return launched;
}

/** A page, and what it may not do: say errors, or ask another place. */
export async function open(launched, server, options = {}) {
  const context = await launched.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.origin });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    // A server that is away, and what it refuses, are shown by the page; the browser notes them too.
    if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(message.text())) wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${server.origin}/`)) wrong.push(`asked ${request.url()}`);
  });
  return { page, context, wrong };
}

/** Serious findings of axe, in words. The policy of the page forbids foreign scripts; a debugger may evaluate all the same. */
export async function axe(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.filter(({ impact }) => impact === "serious" || impact === "critical").map((one) => `${one.id} (${one.impact}): ${one.nodes.slice(0, 4).map((node) => `${node.target} ${node.failureSummary.split("\n").slice(1, 2).join(" ")}`).join(" | ")}`);
}
