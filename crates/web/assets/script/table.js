// Tables: rows that are saved as they are changed, selected by keys and clicks, and more of them below.
{
  const ROWS_IN_PAGE_MAX = 500;
  let lastPicked = null;

  const boxes = () => [...document.querySelectorAll('.entities tbody td.pick input')];

  // The bar shows how many rows are selected; it is there only while some are.
  function countSelected() {
    const bar = document.querySelector('.bulk');
    if (!bar) return;
    const all = boxes();
    const chosen = all.filter(box => box.checked);
    for (const box of all) box.closest('tr').classList.toggle('selected', box.checked);
    bar.classList.toggle('active', chosen.length > 0);
    bar.querySelector('[data-selected]').textContent = chosen.length + ' selected';
    const every = document.querySelector('.pick-all');
    if (every) {
      every.checked = chosen.length > 0 && chosen.length === all.length;
      every.indeterminate = chosen.length > 0 && chosen.length < all.length;
    }
  }

  document.addEventListener('click', event => {
    const box = event.target.closest('.entities tbody td.pick input');
    if (box) {
      // With shift, all rows from the last one that was picked follow.
      const all = boxes(), from = all.indexOf(lastPicked), to = all.indexOf(box);
      if (event.shiftKey && from >= 0) {
        for (const other of all.slice(Math.min(from, to), Math.max(from, to) + 1)) other.checked = box.checked;
      }
      lastPicked = box;
      countSelected();
      // Keys go on working after a click.
      if (event.detail > 0) box.blur();
    }
    if (event.target.matches('.pick-all')) {
      for (const other of boxes()) other.checked = event.target.checked;
      countSelected();
    }
    if (event.target.closest('[data-unselect]')) {
      for (const other of boxes()) other.checked = false;
      countSelected();
    }
    const pencil = event.target.closest('.pencil');
    if (pencil && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      swapRow(pencil.closest('tr'), pencil.href);
    }
    const more = event.target.closest('[data-more] a');
    if (more && document.querySelectorAll('.entities tbody tr').length + 100 <= ROWS_IN_PAGE_MAX) {
      event.preventDefault();
      appendRows(more);
    }
  });

  // Shows a row anew, as an address says.
  function swapRow(row, address) {
    const url = new URL(address, location.href);
    url.searchParams.set('row', row.dataset.reference);
    return htmx.ajax('GET', url.pathname + url.search, { target: row, select: 'tr[data-reference]', swap: 'outerHTML', push: 'false' });
  }

  async function appendRows(link) {
    link.setAttribute('aria-busy', 'true');
    const answer = await fetch(link.href, { headers: { accept: 'text/html' } }).catch(() => null);
    link.removeAttribute('aria-busy');
    if (!answer?.ok) return toast('The next rows could not be loaded');
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const rows = [...page.querySelectorAll('.entities tbody tr')];
    const body = document.querySelector('.entities tbody');
    for (const row of rows) if (!document.getElementById(row.id)) body.append(row);
    const more = page.querySelector('[data-more]');
    more.querySelector('.count').textContent = more.querySelector('.count').textContent
      .replace(/^\d+/, body.children.length);
    document.querySelector('[data-more]').replaceWith(more);
    htmx.process(body);
    countSelected();
  }

  document.addEventListener('keydown', event => {
    const cell = event.target.closest?.('.entities input.bare');
    if (cell && event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      save(cell);
    }
    if (cell && event.key === 'Escape') {
      cell.value = cell.defaultValue;
      close(cell.closest('tr'));
    }
    const isTyping = event.target.matches('input:not([type="checkbox"]), textarea, select, [contenteditable]');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = document.querySelector('.entities tr.here td.pick input');
    if (event.key === 'x' && here) {
      event.preventDefault();
      here.checked = !here.checked;
      lastPicked = here;
      countSelected();
    }
  });

  // A text is saved when it is left. Leaving the row that is open closes it.
  document.addEventListener('focusout', event => {
    const cell = event.target.closest?.('.entities input.bare');
    if (!cell || !cell.isConnected) return;
    const row = cell.closest('tr');
    if (row.contains(event.relatedTarget)) return;
    if (cell.value !== cell.defaultValue) save(cell);
    else close(row);
  });

  function save(cell) {
    const row = cell.closest('tr');
    if (row.classList.contains('saving')) return;
    const isChanged = [...row.querySelectorAll('input.bare')].some(field => field.value !== field.defaultValue);
    if (isChanged) cell.form.requestSubmit();
    else close(row);
  }

  function close(row) {
    if (row.classList.contains('open') && !row.classList.contains('saving')) {
      row.classList.add('saving');
      swapRow(row, withoutEdit());
    }
  }

  function withoutEdit() {
    const url = new URL(location.href);
    url.searchParams.delete('edit');
    return url;
  }

  // What was selected and where the keys are stays so when a row is shown anew.
  let before = null;
  document.addEventListener('htmx:before:request', event => {
    event.target.closest?.('.entities tr')?.classList.add('saving');
  });
  document.addEventListener('htmx:before:swap', event => {
    const row = event.detail.tasks?.[0]?.target;
    before = row?.matches?.('.entities tr') && {
      id: row.id, isHere: row.classList.contains('here'), isPicked: row.querySelector('td.pick input')?.checked,
      focus: row.contains(document.activeElement) ? document.activeElement.name : null,
    };
  });
  document.addEventListener('htmx:after:swap', () => {
    const row = before && document.getElementById(before.id);
    if (!row) return;
    row.classList.toggle('here', before.isHere);
    const box = row.querySelector('td.pick input');
    if (box) box.checked = before.isPicked;
    const title = row.classList.contains('open') && row.querySelector('[name="title"]');
    if (title) {
      title.focus();
      title.setSelectionRange(title.value.length, title.value.length);
    } else if (before.focus) row.querySelector(`[name="${CSS.escape(before.focus)}"]`)?.focus();
    before = null;
    countSelected();
  });

  // What did not reach the server can be sent again.
  document.addEventListener('htmx:error', event => {
    event.detail.ctx?.sourceElement?.closest?.('.entities tr')?.classList.remove('saving');
  });

  // What was refused is said in its cell, where what was typed stays to be corrected.
  document.addEventListener('htmx:response:error', event => {
    const row = event.target.closest?.('.entities tr');
    if (!row) return;
    row.classList.remove('saving');
    if (event.detail.ctx.response.status === 409) toast('Somebody else has changed the same; reload to see it');
  });

  // Fields that were left empty do not belong into an address.
  document.addEventListener('formdata', event => {
    if (event.target.method !== 'get') return;
    const given = [...event.formData].filter(([, value]) => value !== '');
    for (const name of new Set(event.formData.keys())) event.formData.delete(name);
    for (const [name, value] of given) event.formData.append(name, value);
  });

  prepare(() => {
    // An address that says what was just done would say so again.
    const said = new URL(location.href);
    if (said.searchParams.has('done')) {
      said.searchParams.delete('done');
      history.replaceState(history.state, '', said);
    }
    countSelected();
  });
}
