// A list that is worked through: when a row is gone, keys go on with the one that took its place.
let place = null;
document.addEventListener('htmx:before:swap', () => {
  const here = document.querySelector('.suspects > .here');
  place = here ? [...here.parentElement.children].indexOf(here) : null;
});
prepare(() => {
  const rows = document.querySelectorAll('.suspects > li');
  if (place === null || !rows.length || document.querySelector('.suspects > .here')) return;
  const next = rows[Math.min(place, rows.length - 1)];
  next.classList.add('here');
  next.scrollIntoView({ block: 'nearest' });
});

// A form that was asked for in its place is typed into at once.
prepare(() => document.querySelector('[data-focus]:not(:focus-within) input[type="text"]')?.focus());
