// A specification marks in its outline which section is read. Sections come and go as they are edited, so they are looked up anew.
function markOutline() {
  const rows = new Map([...document.querySelectorAll('.document > .outline a[href^="#"]')].map(row => [row.hash.slice(1), row]));
  const sections = [...document.querySelectorAll('.specification > section')].filter(section => rows.has(section.id));
  if (!sections.length) return;
  const read = sections.filter(section => section.getBoundingClientRect().top < innerHeight / 3).at(-1) ?? sections[0];
  const row = rows.get(read.id);
  if (row.hasAttribute('aria-current')) return;
  rows.forEach(other => other.removeAttribute('aria-current'));
  row.setAttribute('aria-current', 'location');
  row.scrollIntoView({ block: 'nearest' });
}
let marksOutline = false;
addEventListener('scroll', () => {
  if (marksOutline) return;
  marksOutline = true;
  requestAnimationFrame(() => {
    marksOutline = false;
    markOutline();
  });
}, { passive: true });
prepare(markOutline);

// One section is edited and talked about at a time; what was typed in another stays as its draft.
document.addEventListener('htmx:before:swap', event => {
  const { select } = event.detail.ctx;
  const open = ['#edit', '#comments'].includes(select) && document.querySelector(`.specification ${select}`);
  if (!open) return;
  const isTyped = [...open.querySelectorAll('textarea, input[type="text"]')].some(field => field.value !== field.defaultValue);
  if (isTyped) toast('What you typed is kept as a draft');
  open.remove();
});
