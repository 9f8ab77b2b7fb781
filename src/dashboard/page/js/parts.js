// Small parts that many pages use.
import { html, signal, useEffect, useRef, useState } from "./dom.js";
import { age, mark, moment, plain } from "./words.js";

/** A state as sign and word. */
export function Tag({ of, state, more }) {
  const [tone, sign] = mark(of, state);
  return html`<span class="tag ${tone}"><span class="sign" aria-hidden="true">${sign}</span>${plain(state)}${more ? html`<span class="more">, ${plain(more)}</span>` : ""}</span>`;
}

export const Age = ({ at }) => (at ? html`<time datetime=${at} title=${moment(at)}>${age(at)}</time>` : "");

export function Progress({ value, label }) {
  if (typeof value !== "number") return "";
  const percent = Math.round(Math.min(1, Math.max(0, value)) * 100);
  return html`<span class="progress"><progress max="100" value=${percent} aria-label=${label ?? "progress"}></progress><span class="figure">${percent}%</span></span>`;
}

/** What to do where nothing is yet. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** A refusal with its hint. */
export function Refusal({ problem }) {
  if (!problem) return "";
  return html`<p class="refusal" role="alert"><strong>${problem.message}</strong>${problem.hint ? html` <span>${problem.hint}</span>` : ""}</p>`;
}

/** Text or JSON, as it is, with a button that copies it. */
export function Code({ value, label }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return html`<div class="code"><${Copy} text=${text} label=${`Copy ${label ?? "text"}`} small /><pre tabindex="0" role="region" aria-label=${label ?? "text"}>${text}</pre></div>`;
}

export function Copy({ text, label = "Copy", small }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      // Without https or consent there is no clipboard: the text can still be marked by hand.
      setDone(select(text) ? "Copied" : "Mark it and press Ctrl+C");
    }
    setTimeout(() => setDone(""), 2000);
  };
  return html`<button type="button" class=${small ? "copy small" : "copy"} onClick=${copy} aria-label=${done ? `${label}: ${done}` : label}>${done || "Copy"}</button>`;
}

function select(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}

/** More on demand. What is inside is made only when it is opened. */
export function More({ summary, children, open = false, onOpen }) {
  const [isOpen, setOpen] = useState(open);
  const toggled = (event) => {
    setOpen(event.currentTarget.open);
    if (event.currentTarget.open) onOpen?.();
  };
  return html`<details class="more-of" open=${isOpen} onToggle=${toggled}><summary>${summary}</summary>${isOpen ? (typeof children === "function" ? children() : children) : ""}</details>`;
}

/** A field with its label, help and error. `children(props)` makes the control. */
export function Field({ id, label, help, error, children, inline }) {
  const about = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ");
  const props = { id, "aria-describedby": about || undefined, "aria-invalid": error ? "true" : undefined };
  return html`<div class="field ${inline ? "inline" : ""} ${error ? "wrong" : ""}">
    <label for=${id}>${label}</label>
    ${children(props)}
    ${help ? html`<p class="help" id="${id}-help">${help}</p>` : ""}
    ${error ? html`<p class="error" id="${id}-error" role="alert">${error}</p>` : ""}
  </div>`;
}

/** A dialog of the browser: it keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children }) {
  const ref = useRef();
  useEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  const outside = (event) => event.target === ref.current && onClose();
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onCancel=${(event) => { event.preventDefault(); onClose(); }} onMouseDown=${outside}>
    <div class="dialog"><h2 id="dialog-title">${title}</h2>${children}</div>
  </dialog>`;
}

/** What happened, for everybody: shown for some seconds, and read out. */
export const notices = signal([]);
let number = 0;

export function notice(text, tone = "ok") {
  const key = ++number;
  notices.value = [...notices.value.slice(-3), { key, text, tone }];
  setTimeout(() => {
    notices.value = notices.value.filter((one) => one.key !== key);
  }, tone === "bad" ? 12_000 : 5000);
}

export function failed(problem) {
  notice([problem.message, problem.hint].filter(Boolean).join(". "), "bad");
}

export function Notices() {
  return html`<div class="notices" role="status" aria-live="polite">${notices.value.map(
    (one) => html`<p key=${one.key} class="notice ${one.tone}">${one.text}</p>`,
  )}</div>`;
}

/** A button that cannot be pressed twice while its work goes on. */
export function Action({ onClick, children, className = "", disabled, ...rest }) {
  const [busy, setBusy] = useState(false);
  const press = async (event) => {
    setBusy(true);
    try {
      await onClick(event);
    } catch (problem) {
      failed(problem);
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class=${className} onClick=${press} disabled=${disabled || busy} aria-busy=${busy ? "true" : undefined} ...${rest}>${children}</button>`;
}
