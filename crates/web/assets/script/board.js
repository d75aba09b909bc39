// Cards of a board are dragged to columns. A drop chooses the status in the card's own form, so that it is sent, refused and
// shown like a choice.
let dragged = null;
const columnOf = event => event.target.closest?.('.board-column');
const isTarget = column => dragged?.dataset.targets.split('\n').includes(column?.dataset.status);

document.addEventListener('dragstart', event => {
  dragged = event.target.closest?.('.board-card[data-targets]');
  if (!dragged) return;
  event.dataTransfer.effectAllowed = 'move';
  event.dataTransfer.setData('text/plain', dragged.id.replace('card-', ''));
  dragged.classList.add('dragged');
  for (const column of document.querySelectorAll('.board-column')) {
    column.classList.add(isTarget(column) ? 'open-target' : 'closed-target');
  }
});
document.addEventListener('dragover', event => {
  const column = columnOf(event);
  if (!isTarget(column)) return;
  event.preventDefault();
  for (const other of document.querySelectorAll('.over-target')) other.classList.toggle('over-target', other === column);
  column.classList.add('over-target');
});
document.addEventListener('drop', event => {
  const column = columnOf(event);
  if (!isTarget(column)) return;
  event.preventDefault();
  const choice = dragged.querySelector('select[name="status"]');
  choice.value = column.dataset.status;
  choice.form.requestSubmit();
});
document.addEventListener('dragend', () => {
  dragged = null;
  for (const name of ['dragged', 'open-target', 'closed-target', 'over-target']) {
    for (const one of document.querySelectorAll(`.${name}`)) one.classList.remove(name);
  }
});

// Keys work on the card that has the focus.
document.addEventListener('focusin', event => {
  const card = event.target.closest('.board-card');
  if (!card || card.classList.contains('here')) return;
  document.querySelector('.here')?.classList.remove('here');
  card.classList.add('here');
});
