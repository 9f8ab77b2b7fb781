// Kinds, strategies and toolsets: read once, and again after a change.
import { computed, signal } from "./dom.js";
import { get } from "./api.js";
import { tasks, tasksChanged } from "./store.js";

/** None until they were read; `problem` if they cannot be. */
export const kinds = signal(null);
export const kindsProblem = signal(null);
export const strategies = signal([]);
export const toolsets = signal([]);

/** Names to choose from: the kinds, and those of tasks that are known. */
export const kindNames = computed(() => {
  tasksChanged.value;
  const names = new Set((kinds.value ?? []).map((kind) => kind.kind));
  if (!kinds.value) for (const task of tasks.values()) names.add(task.kind);
  return [...names].sort();
});

export async function readKinds() {
  try {
    kinds.value = (await get("/kinds")).items;
    kindsProblem.value = null;
  } catch (problem) {
    kindsProblem.value = problem;
  }
}

export async function readChoices() {
  const [s, t] = await Promise.allSettled([get("/strategies"), get("/toolsets")]);
  if (s.status === "fulfilled") strategies.value = s.value.items;
  if (t.status === "fulfilled") toolsets.value = t.value.items;
}
