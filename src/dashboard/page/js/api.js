// Requests to this server, and the errors that it answers with.
import { signal } from "./dom.js";
import { keep, kept } from "./keep.js";

/** The token that requests show, if somebody signed in. It leaves the page only in a header. */
export const token = signal(kept("token", ""));
/** Why the server asks for a token, while the dialog for it is open. */
export const signInAsked = signal(null);

export function setToken(text) {
  token.value = text;
  keep("token", text);
}

/** An answer with `application/problem+json`, or none at all. */
export class Problem extends Error {
  constructor(body) {
    super(body.detail || body.title || "the request failed");
    this.status = body.status ?? 0;
    this.code = body.code ?? "";
    this.hint = body.hint ?? "";
    this.field = body.field ?? "";
    this.body = body;
  }
}

export function headers(shown = token.value) {
  return shown ? { Authorization: `Bearer ${shown}` } : {};
}

/** Sends a request; `path` begins behind `/api/v1`. A wait has an end: a server that hangs is told to people. */
export async function ask(method, path, body, options = {}) {
  const within = AbortSignal.timeout(options.within ?? 35_000);
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      headers: { Accept: "application/json", ...headers(options.token), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: options.signal ? AbortSignal.any([options.signal, within]) : within,
      cache: "no-store",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem({ code: "unreachable", detail: "the server does not answer", hint: "The page keeps trying; look whether ccfleet serve runs." });
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    answer = null;
  }
  if (response.ok) return answer;
  const problem = new Problem({ status: response.status, title: response.statusText, ...(answer ?? {}) });
  // Who shows nothing may be somebody who has a token; who shows one and may not, is told so.
  if (response.status === 401 && options.token === undefined) signInAsked.value = { why: problem.message };
  throw problem;
}

export const get = (path, options) => ask("GET", path, undefined, options);
export const post = (path, body = {}, options) => ask("POST", path, body, options);

/** An address with a query; what is empty is left out. */
export function query(path, fields) {
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  return text ? `${path}?${text}` : path;
}

export const enc = encodeURIComponent;
