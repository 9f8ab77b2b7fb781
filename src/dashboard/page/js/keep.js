// What outlives a reload of the page, in this tab alone: places, drafts, the token. Storage may be forbidden or full;
// then it lives as long as the page does.
const memory = new Map();

export function kept(key, otherwise) {
  const name = `ccfleet.${key}`;
  try {
    const text = sessionStorage.getItem(name);
    if (text !== null) return JSON.parse(text);
  } catch {
    // Forbidden, or not what we wrote.
  }
  return memory.has(name) ? memory.get(name) : otherwise;
}

export function keep(key, value) {
  const name = `ccfleet.${key}`;
  memory.set(name, value);
  try {
    if (value === undefined || value === null || value === "") sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // It is kept in memory.
  }
}
