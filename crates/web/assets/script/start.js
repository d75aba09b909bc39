// What pages can do beyond plain HTML. Everything here is a convenience: reading and writing work without it.
'use strict';

document.documentElement.classList.add('scripted');

// What is to be done with a page when it is loaded, and again when a form has put another into it.
const preparations = [];
function prepare(prepared) {
  preparations.push(prepared);
  prepared();
}
document.addEventListener('htmx:after:swap', () => preparations.forEach(prepared => prepared()));

// Elements by a tag, attributes and what is in them.
function make(tag, attributes, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

// A sentence at the bottom of the page, for a moment.
function toast(text) {
  document.querySelector('.toast')?.remove();
  const box = make('p', { class: 'toast', role: 'status' }, text);
  document.body.append(box);
  setTimeout(() => box.remove(), 2500);
}

// A bar at the top that stays until it is taken away; one for each name.
function bar(name, ...inside) {
  unbar(name);
  document.body.prepend(make('div', { class: 'bar', role: 'status', 'data-bar': name }, ...inside));
}
function unbar(name) {
  document.querySelector(`[data-bar="${name}"]`)?.remove();
}

// A dialog over the page, which goes when it is closed.
function dialog(label, ...inside) {
  document.querySelector('dialog.over')?.remove();
  const box = make('dialog', { class: 'over', 'aria-label': label }, ...inside);
  document.body.append(box);
  box.addEventListener('close', () => box.remove());
  box.addEventListener('click', event => {
    if (event.target === box || event.target.closest('[data-close]')) box.close();
  });
  box.showModal();
  return box;
}

// HTML that the server made, as an element that holds it.
async function fetched(path) {
  const answer = await fetch(path, { headers: { accept: 'text/html' } });
  if (!answer.ok || answer.redirected) throw new Error(`${path}: ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), 'text/html').body;
}

function copyText(text) {
  navigator.clipboard.writeText(text).then(() => toast('Copied'), () => toast('Could not copy'));
}

// A choice is sent when it is made, a field when it is left.
document.addEventListener('change', event => {
  if (event.target.matches('[data-submit]')) event.target.form.requestSubmit();
});

// The link of the demonstration signs in without a click.
document.querySelector('button[data-press]')?.click();

document.addEventListener('click', event => {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const copy = event.target.closest('[data-copy]');
  if (copy) {
    // The address of the item itself, wherever it is shown.
    const reference = copy.closest('[data-reference]')?.dataset.reference;
    const address = reference ? ` ${location.origin}/r/${reference}` : '';
    copyText(copy.dataset.copy + address);
  }
  const fill = event.target.closest('[data-fill]');
  if (fill) document.querySelector(fill.dataset.fill).value = fill.value;
  const clear = event.target.closest('[data-clear]');
  if (clear) document.querySelector(clear.dataset.clear).value = '';
  // A page that can be looked at without leaving this one.
  const shown = event.target.closest('a[data-dialog]');
  if (shown && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    fetched(shown.href).then(page => dialog(shown.innerText, page.querySelector(shown.dataset.dialog), make('button', { 'data-close': '' }, 'Close')))
      .catch(() => toast('This could not be fetched'));
  }
});
