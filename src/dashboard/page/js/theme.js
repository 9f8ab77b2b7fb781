// Runs before the first paint, so that a page in the dark does not flash. A classic script: modules run later.
"use strict";
try {
  const theme = localStorage.getItem("ccfleet.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden; the system's choice holds then.
}
