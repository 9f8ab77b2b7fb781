// Signing in: a token or the operator's key, kept in this tab alone and sent in a header.
import { html, useState } from "./dom.js";
import { get, setToken, signInAsked, token } from "./api.js";
import { restart } from "./feed.js";
import { Dialog, Field, notice } from "./parts.js";

export function SignIn() {
  const { why, then } = signInAsked.value;
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => {
    signInAsked.value = null;
  };
  const send = async (event) => {
    event.preventDefault();
    const shown = text.trim();
    if (!shown) return setError("Put the token in first.");
    let who;
    setBusy(true);
    try {
      who = await get("/session", { token: shown });
    } catch (problem) {
      setBusy(false);
      return setError([problem.message, problem.hint].filter(Boolean).join(". "));
    }
    setToken(shown);
    restart();
    close();
    notice(`Signed in as ${who.owner} (${who.role}) for as long as this tab is open.`);
    then?.();
  };
  const leave = () => {
    setToken("");
    restart();
    close();
    notice("Signed out.");
  };
  return html`<${Dialog} title="Sign in" onClose=${close}>
    <form onSubmit=${send}>
      ${why ? html`<p>${why}</p>` : ""}
      <p class="help">Show a token that <code>ccfleet token create</code> made, or the operator's key: the content of <code>operator.key</code> in the server's data folder. It stays in this tab and is sent to this server alone.</p>
      <${Field} id="token" label="Token or key" error=${error}>${(props) => html`<input type="password" autocomplete="off" autofocus value=${text} onInput=${(event) => setText(event.target.value)} ...${props} />`}<//>
      <div class="buttons">
        <button type="submit" class="primary" disabled=${busy}>Sign in</button>
        <button type="button" onClick=${close}>Close</button>
        ${token.value ? html`<button type="button" onClick=${leave}>Sign out</button>` : ""}
      </div>
    </form>
  <//>`;
}
