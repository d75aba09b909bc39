// Long lists: only the rows in view exist.

/** How many rows beyond the edges are there already when one scrolls. */
const ROWS_AHEAD = 8;

/** Shows items in rows of one height. `render` makes the content of a row. */
function longList(scroller, rowHeight, render) {
  const list = element("ul.rows");
  scroller.append(list);
  let items = [];
  let rows = new Map();

  function draw() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - ROWS_AHEAD);
    const last = Math.min(items.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / rowHeight) + ROWS_AHEAD);
    for (const [index, row] of rows) {
      if (index >= first && index < last) continue;
      row.remove();
      rows.delete(index);
    }
    for (let index = first; index < last; index += 1) {
      if (rows.has(index)) continue;
      const attributes = { "aria-setsize": items.length, "aria-posinset": index + 1 };
      const row = element("li", attributes, render(items[index], index));
      row.style.top = `${index * rowHeight}px`;
      row.style.height = `${rowHeight}px`;
      // In order, for those who go through them by keyboard.
      const next = [...list.children].find((other) => Number(other.getAttribute("aria-posinset")) > index + 1);
      list.insertBefore(row, next ?? null);
      rows.set(index, row);
    }
  }

  /** Makes all rows anew. */
  function refresh() {
    for (const row of rows.values()) row.remove();
    rows = new Map();
    draw();
  }

  scroller.addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(draw).observe(scroller);
  return {
    refresh,
    show(newItems) {
      items = newItems;
      list.style.height = `${items.length * rowHeight}px`;
      refresh();
    },
    /** Scrolls so that a row can be seen. */
    reveal(index) {
      if (index < 0 || scroller.clientHeight === 0) return;
      const top = index * rowHeight;
      const isSeen = top >= scroller.scrollTop && top + rowHeight <= scroller.scrollTop + scroller.clientHeight;
      if (!isSeen) scroller.scrollTop = top - scroller.clientHeight / 3;
      draw();
    },
  };
}
