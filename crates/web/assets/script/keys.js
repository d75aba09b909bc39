// Keys, unless something is being typed. `g` and a letter opens a page of the project.
let waitsForPage = false;
document.addEventListener('keydown', event => {
  const typing = event.target.matches('input, textarea, select, [contenteditable]');
  if (event.key === 'Escape' && typing) event.target.blur();
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.form) event.target.form.requestSubmit();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const press = selector => {
    const found = document.querySelector(selector);
    if (!found) return;
    event.preventDefault();
    found.matches('textarea, input') ? found.focus() : found.click();
  };
  if (waitsForPage) {
    waitsForPage = false;
    return press(`.pages [data-key="${CSS.escape(event.key)}"]`);
  }
  if (event.key === 'g') waitsForPage = true;
  else if (event.key === '/') press('#search');
  else if (event.key === 'j' || event.key === 'k') move(event.key === 'j' ? 1 : -1);
  else if (event.key === 'Enter') document.querySelector('tr.here a')?.click();
  else if (event.key.length === 1) press(`main [data-key="${CSS.escape(event.key)}"]`);
});

function move(step) {
  const rows = [...document.querySelectorAll('.entities tbody tr')];
  const at = rows.findIndex(row => row.classList.contains('here'));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  if (!next) return;
  rows[at]?.classList.remove('here');
  next.classList.add('here');
  next.scrollIntoView({ block: 'nearest' });
}
