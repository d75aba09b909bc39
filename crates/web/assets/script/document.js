// A specification marks in its outline which section is read.
(() => {
  const rows = new Map([...document.querySelectorAll('.document > .outline a[href^="#"]')].map((row) => [row.hash.slice(1), row]));
  const sections = [...document.querySelectorAll('.specification > section')].filter((section) => rows.has(section.id));
  if (sections.length === 0) return;
  const mark = () => {
    const read = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 3).at(-1) ?? sections[0];
    const row = rows.get(read.id);
    if (row.hasAttribute('aria-current')) return;
    rows.forEach((other) => other.removeAttribute('aria-current'));
    row.setAttribute('aria-current', 'location');
    row.scrollIntoView({ block: 'nearest' });
  };
  let waits = false;
  addEventListener('scroll', () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; mark(); });
  }, { passive: true });
  mark();
})();
