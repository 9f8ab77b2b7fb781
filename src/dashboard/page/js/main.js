// The frame around all pages: navigation, connection, theme, who is signed in.
import { effect, html, render, signal, useEffect, useRef, useState } from "./dom.js";
import { signInAsked, token } from "./api.js";
import { connection, start } from "./feed.js";
import { startFigures } from "./figures.js";
import { Notices } from "./parts.js";
import { route } from "./route.js";
import { follow, waitingForPeople } from "./store.js";
import { age, several } from "./words.js";
import { SignIn } from "./signin.js";
import { Fleet } from "./fleet.js";
import { Commands } from "./commands.js";
import { Tasks } from "./tasks.js";
import { Task } from "./task.js";
import { NewTask } from "./new.js";
import { Chat } from "./chat.js";
import { Inbox } from "./inbox.js";
import { Kinds } from "./kinds.js";
import { Kind } from "./kind.js";
import { Models } from "./models.js";

const PAGES = [
  ["fleet", "Fleet", Fleet],
  ["tasks", "Tasks", Tasks],
  ["new", "New task", NewTask],
  ["inbox", "Inbox", Inbox],
  ["commands", "Commands", Commands],
  ["agents", "Agents", Kinds],
  ["models", "Models", Models],
];
const menuOpen = signal(false);

function page({ page: name, id }) {
  if (name === "tasks" && id) return { title: "Task", body: html`<${Task} key=${id} id=${id} />`, nav: "tasks" };
  if (name === "chat" && id) return { title: "Conversation", body: html`<${Chat} key=${id} id=${id} />`, nav: "new" };
  if (name === "agents" && id) return { title: "Agent", body: html`<${Kind} key=${id} name=${id} />`, nav: "agents" };
  const [nav, title, Page] = PAGES.find(([known]) => known === name) ?? PAGES[0];
  return { title, body: html`<${Page} key=${nav} />`, nav };
}

function Connection() {
  const { state, since } = connection.value;
  const words = {
    connecting: "connecting",
    live: "live",
    refused: "not let in",
    lost: `no connection for ${age(new Date(since).toISOString())}; trying again`,
  }[state];
  const tone = { live: "ok", connecting: "idle", refused: "warn", lost: "bad" }[state];
  return html`<p class="connection ${tone}" data-state=${state}><span class="dot" aria-hidden="true"></span>${words}</p>`;
}

/** Said aloud only when it changes: the age beside it changes every second. */
function ConnectionStatus() {
  const { state } = connection.value;
  const said = { live: "Connected.", lost: "The connection is lost. The page keeps what it shows and tries again.", refused: "The server does not let you in. Sign in.", connecting: "" }[state];
  return html`<p class="unseen" role="status">${said}</p>`;
}

function Theme() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "system");
  const choose = (event) => {
    const chosen = event.target.value;
    setTheme(chosen);
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem("ccfleet.theme", chosen);
    } catch {
      // It holds as long as the page does.
    }
  };
  return html`<label class="theme">Theme <select value=${theme} onChange=${choose}>
    <option value="system">as the system</option><option value="light">light</option><option value="dark">dark</option>
  </select></label>`;
}

function App() {
  const { title, body, nav } = page(route.value);
  const waiting = waitingForPeople.value;
  const main = useRef();
  const first = useRef(true);
  const place = `${route.value.page}/${route.value.id ?? ""}`;

  useEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ""}${title} · ccfleet`;
  }, [title, waiting]);
  // A new page is a new place: it is read from its beginning, and the keyboard goes on there.
  useEffect(() => {
    menuOpen.value = false;
    if (first.current) first.current = false;
    else main.current.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [place]);

  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="#/fleet"><span aria-hidden="true">▦</span> ccfleet</a>
      ${waiting ? html`<a class="waiting" href="#/inbox">${several(waiting, "question")} for you</a>` : ""}
      <button type="button" class="menu" aria-expanded=${menuOpen.value ? "true" : "false"} aria-controls="nav" onClick=${() => { menuOpen.value = !menuOpen.value; }}>Menu</button>
    </header>
    <nav id="nav" aria-label="Pages" class=${menuOpen.value ? "open" : ""}>
      <ul>${PAGES.map(([name, words]) => html`<li key=${name}><a href="#/${name}" aria-current=${nav === name ? "page" : undefined}>${words}${name === "inbox" && waiting ? html` <span class="count">${waiting}</span>` : ""}</a></li>`)}</ul>
      <div class="foot">
        <${Connection} />
        <button type="button" class="plain" onClick=${() => { signInAsked.value = {}; }}>${token.value ? "Signed in" : "Sign in"}</button>
        <${Theme} />
      </div>
    </nav>
    <main id="main" ref=${main} tabindex="-1">${connection.value.state === "refused" ? html`<p class="banner">${token.value ? "The server does not take this token (any more)." : "This server wants to know who you are."} <button type="button" class="small" onClick=${() => { signInAsked.value = {}; }}>Sign in</button></p>` : ""}${connection.value.state === "lost" ? html`<p class="banner">The server does not answer. What you see is how it was; the page goes on by itself when the server is back.</p>` : ""}${body}</main>
    <${ConnectionStatus} />
    <${Notices} />
    ${signInAsked.value ? html`<${SignIn} />` : ""}`;
}

follow();
start();
startFigures();
document.getElementById("app").textContent = "";
render(html`<${App} />`, document.getElementById("app"));
effect(() => {
  document.documentElement.dataset.connection = connection.value.state;
});
