// A table of which only the rows in sight exist, however many there are. Rows have one height.
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import { keep, kept } from "./keep.js";

const narrow = matchMedia("(max-width: 700px)");
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});

/** Rows beyond the edges, so that a fast scroll shows no gap. */
const BEYOND = 8;

/**
 * `name` is the table's name for its kept place; `columns` are headings; `row(at)` gives {key, cells, href} where the
 * first cell becomes the row's link; `more()` is called near the end.
 */
export function Table({ name, label, columns, count, row, more, height = 36, narrowHeight = 74, busy, anchorKey }) {
  const frame = useRef();
  const size = isNarrow.value ? narrowHeight : height;
  const [view, setView] = useState({ top: kept(`scroll.${name}`, 0), height: 600 });
  const anchor = useRef(null);

  useLayoutEffect(() => {
    const box = frame.current;
    box.scrollTop = kept(`scroll.${name}`, 0);
    const measure = () => setView({ top: box.scrollTop, height: box.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box);
    return () => watch.disconnect();
  }, [name]);

  const from = Math.max(0, Math.floor(view.top / size) - BEYOND);
  const to = Math.min(count, Math.ceil((view.top + view.height) / size) + BEYOND);

  // Rows that come in above must not push away what somebody reads.
  useLayoutEffect(() => {
    const box = frame.current;
    if (anchorKey && box.scrollTop > size && anchor.current) {
      const moved = anchorKey(anchor.current.key) - anchor.current.at;
      if (moved > 0) box.scrollTop += moved * size;
    }
    const at = Math.min(Math.floor(box.scrollTop / size), count - 1);
    anchor.current = anchorKey && at >= 0 ? { key: row(at).key, at } : null;
  });

  useEffect(() => {
    if (more && to >= count - BEYOND) more();
  });

  const scrolled = (event) => {
    const { scrollTop, clientHeight } = event.currentTarget;
    keep(`scroll.${name}`, scrollTop);
    if (anchorKey) {
      const at = Math.min(Math.floor(scrollTop / size), count - 1);
      anchor.current = at >= 0 ? { key: row(at).key, at } : null;
    }
    setView({ top: scrollTop, height: clientHeight });
  };

  const rows = [];
  for (let at = from; at < to; at++) {
    const { key, cells, href, label: rowLabel, tone } = row(at);
    rows.push(html`<div key=${key} role="row" aria-rowindex=${at + 2} class="row ${tone ?? ""}" style=${{ top: `${at * size}px`, height: `${size}px` }} data-at=${at}>
      ${cells.map((cell, column) => html`<div role="cell" class="cell c${column}">${column === 0 && href ? html`<a href=${href} aria-label=${rowLabel}>${cell}</a>` : cell}</div>`)}
    </div>`);
  }
  return html`<div class="table t-${name}" role="table" aria-label=${label} aria-rowcount=${count + 1} aria-busy=${busy ? "true" : undefined}>
    <div role="rowgroup" class="head"><div role="row" class="row" aria-rowindex="1">${columns.map(
      (column, at) => html`<div role="columnheader" class="cell c${at}">${column}</div>`,
    )}</div></div>
    <div class="frame" ref=${frame} style=${{ maxHeight: `${Math.max(count * size, size * 3)}px` }} onScroll=${scrolled} onKeyDown=${(event) => arrows(event, size)} tabindex="0" role="rowgroup" aria-label="${label}, rows">
      <div class="space" role="presentation" style=${{ height: `${count * size}px` }}>${rows}</div>
    </div>
  </div>`;
}

/** Arrow keys go from row to row, also to such that do not exist yet. */
function arrows(event, size) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const box = event.currentTarget;
  const row = document.activeElement?.closest?.(".row");
  if (!step || !box.contains(document.activeElement)) return;
  const at = row ? Number(row.dataset.at) + step : Math.ceil(box.scrollTop / size);
  event.preventDefault();
  const top = at * size;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + size > box.scrollTop + box.clientHeight) box.scrollTop = top + size - box.clientHeight;
  requestAnimationFrame(() => requestAnimationFrame(() => box.querySelector(`[data-at="${at}"] a, [data-at="${at}"] button`)?.focus({ preventScroll: true })));
}

