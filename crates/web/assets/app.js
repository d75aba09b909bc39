// What pages can do beyond plain HTML. Everything here is a convenience: reading and writing work without it.
'use strict';

document.documentElement.classList.add('scripted');

// A choice is sent when it is made.
document.addEventListener('change', event => {
  if (event.target.matches('[data-submit]')) event.target.form.requestSubmit();
});

// The link of the demonstration signs in without a click.
document.querySelector('button[data-press]')?.click();

// Menus close when something else is clicked.
document.addEventListener('click', event => {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const copy = event.target.closest('[data-copy]');
  if (copy) {
    const address = copy.closest('[data-reference]') ? ' ' + location.origin + location.pathname : '';
    navigator.clipboard.writeText(copy.dataset.copy + address).then(() => toast('Copied'), () => toast('Could not copy'));
  }
});

function toast(text) {
  document.querySelector('.toast')?.remove();
  const box = document.createElement('p');
  box.className = 'toast';
  box.setAttribute('role', 'status');
  box.textContent = text;
  document.body.append(box);
  setTimeout(() => box.remove(), 2000);
}

// Exact times in the reader's own zone.
for (const time of document.querySelectorAll('time[datetime]')) {
  const at = new Date(time.dateTime);
  if (!isNaN(at)) time.title = at.toLocaleString();
}

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

// What others change is shown as it happens, while the page is looked at. Nothing that is being typed is replaced.
const live = () => document.querySelector('[data-live]');
let stream = null;
function follow() {
  if (document.hidden || !live()) {
    stream?.close();
    stream = null;
  } else if (!stream) {
    stream = new EventSource('/api/v1/events');
    stream.onmessage = event => heard(JSON.parse(event.data));
    for (const name of ['created', 'updated', 'deleted', 'restored', 'change']) {
      stream.addEventListener(name, event => heard(JSON.parse(event.data)));
    }
  }
}
let waiting = null;
function heard(change) {
  const item = live();
  const reference = change.reference_id || change.reference;
  if (!item || reference !== item.dataset.reference) return;
  const version = Number(item.dataset.live.split('@')[1]);
  if (change.version && change.version <= version && change.kind !== 'comment') return;
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 250);
}
async function refresh() {
  const item = live();
  const typed = [...item.querySelectorAll('textarea, input[type="text"]')].some(field => field.value !== field.defaultValue);
  if (typed) return toast('This has changed meanwhile; reload to see it');
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = page.querySelector('[data-live]');
  if (fresh) item.replaceWith(fresh);
}
document.addEventListener('visibilitychange', follow);
follow();
