// What `j` and `k` go through. What stands in a row has its key only while the row is the one that keys work on.
const ROWS = '.entities tbody tr, .rows > li, .hits > li, .tree li, .specification > section, .criteria > ul > li';

// Keys, unless something is being typed; `/keys` lists them. `g` and a letter opens a page of the project.
let waitsForPage = false;
document.addEventListener('keydown', event => {
  const typing = event.target.matches('input:not([type="checkbox"]), textarea, select, [contenteditable]');
  if (event.key === 'Escape' && typing && !event.target.closest('dialog')) {
    const cancel = event.target.closest('form')?.querySelector('[data-cancel]');
    event.target.matches('input, textarea') && event.target.value === event.target.defaultValue && cancel ? cancel.click() : event.target.blur();
  }
  if (event.key === 'Escape') {
    const menu = event.target.closest?.('details.menu[open]');
    if (menu) {
      menu.open = false;
      menu.querySelector('summary').focus();
    }
  }
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.form) event.target.form.requestSubmit();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('dialog')) return;
  if (document.documentElement.dataset.keys === 'off') return;
  const press = found => {
    if (!found) return;
    event.preventDefault();
    const field = found.matches('textarea, input, select') ? found : found.querySelector('select');
    if (!field) return found.click();
    field.focus();
    if (field.matches('select')) field.showPicker?.();
    else field.select();
  };
  if (waitsForPage) {
    waitsForPage = false;
    return press(document.querySelector(`:is(.pages, .more-pages) [data-key="${CSS.escape(event.key)}"]`));
  }
  const here = document.querySelector('.here');
  if (event.key === 'g') waitsForPage = true;
  else if (event.key === '/') press(document.querySelector('#search'));
  else if ('jkJK'.includes(event.key)) move(event.key.toLowerCase() === 'j' ? 1 : -1);
  else if (event.key === 'Enter' && event.target === document.body) here?.querySelector('a')?.click();
  else if (event.key === ' ' && here && event.target === document.body) {
    event.preventDefault();
    peek(here.querySelector('a[href^="/r/"]'));
  } else if (event.key === 'm' && getSelection().toString().trim() && document.querySelector('.quote-button')) {
    event.preventDefault();
    document.querySelector('.quote-button').click();
  } else if (event.key === 'y' && here?.querySelector('a.reference')) {
    const link = here.querySelector('a.reference');
    copyText([link.innerText, here.querySelector('.name, .title')?.innerText, link.href].filter(Boolean).join(' '));
  } else if (event.key.length === 1) {
    const key = `[data-key="${CSS.escape(event.key)}"]`;
    const isFree = found => !found.closest(ROWS) && found.checkVisibility();
    press(here?.querySelector(key) ?? [...document.querySelectorAll(`main ${key}`)].find(isFree) ?? document.querySelector(`.top > ${key}, .top .menu:not(.more-pages) ${key}`));
  }
});

// The row that keys work on.
function move(step) {
  const rows = [...document.querySelectorAll(ROWS)].filter(row => row.checkVisibility());
  const at = rows.findIndex(row => row.classList.contains('here'));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  if (!next) return;
  rows[at]?.classList.remove('here');
  next.classList.add('here');
  next.scrollIntoView({ block: 'nearest' });
}
