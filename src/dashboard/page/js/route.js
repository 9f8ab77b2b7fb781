// Where the page is: the part of the address behind `#`, so that it can be kept, sent and gone back to.
import { signal } from "./dom.js";

function read() {
  const text = location.hash.replace(/^#\/?/, "");
  const [path, search = ""] = text.split("?");
  const parts = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: parts[0] || "fleet", id: parts[1], query: Object.fromEntries(new URLSearchParams(search)) };
}

export const route = signal(read());
addEventListener("hashchange", () => {
  route.value = read();
});

export function go(address) {
  location.hash = address;
}

/** Changes the query of this page without a step in the history: a filter is no place of its own. */
export function setQuery(fields) {
  const { page, id, query } = route.value;
  const pairs = Object.entries({ ...query, ...fields }).filter(([, value]) => value);
  const search = new URLSearchParams(pairs).toString();
  const path = ["#", page, ...(id ? [encodeURIComponent(id)] : [])].join("/");
  history.replaceState(null, "", search ? `${path}?${search}` : path);
  route.value = read();
}
