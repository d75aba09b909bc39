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
