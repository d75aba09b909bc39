// Texts as they are written: preview, tables from spreadsheets, drafts, and comments on a passage.

// A button beside each Markdown field shows what it will look like.
prepare(() => {
  for (const field of document.querySelectorAll('textarea[data-markdown]:not([data-previewed])')) {
    field.dataset.previewed = '';
    const button = make('button', { type: 'button', class: 'quiet preview-button', 'aria-pressed': 'false' }, 'Preview');
    const shown = make('div', { class: 'prose preview', 'hx-ignore': '', hidden: '' });
    button.addEventListener('click', () => preview(field, shown, button));
    field.after(shown, button);
  }
});

async function preview(field, shown, button) {
  const opens = shown.hidden;
  if (opens) {
    const answer = await fetch('/preview', { method: 'POST', body: new URLSearchParams({ text: field.value }) }).catch(() => null);
    if (!answer?.ok) return toast('The preview could not be made');
    shown.innerHTML = await answer.text();
  }
  shown.hidden = !opens;
  field.hidden = opens;
  button.setAttribute('aria-pressed', opens);
  if (!opens) field.focus();
}

// Cells that were copied from a spreadsheet become a table.
document.addEventListener('paste', event => {
  const text = event.clipboardData?.getData('text/plain') ?? '';
  if (!event.target.matches?.('textarea[data-markdown]') || !text.includes('\t')) return;
  const rows = text.replace(/\r?\n$/, '').split(/\r?\n/).map(line => line.split('\t'));
  const width = Math.max(...rows.map(row => row.length));
  if (rows.length < 2 && width < 2) return;
  event.preventDefault();
  const cell = text => text.trim().replaceAll('|', '\\|') || ' ';
  const line = row => '| ' + Array.from({ length: width }, (_, at) => cell(row[at] ?? '')).join(' | ') + ' |';
  const [head, ...body] = rows;
  const table = [line(head), '|' + ' --- |'.repeat(width), ...body.map(line)].join('\n');
  event.target.setRangeText(`\n${table}\n`, event.target.selectionStart, event.target.selectionEnd, 'end');
  event.target.dispatchEvent(new Event('input', { bubbles: true }));
});

// Drafts are kept for as long as the tab is open. Signing out clears them; where there is no TLS, browsers do not do it by themselves.
document.addEventListener('submit', event => {
  if (event.target.matches('[data-forget]')) sessionStorage.clear();
});
const draftOf = field => field.closest('[data-draft]') && `draft ${field.closest('[data-draft]').dataset.draft} ${field.name}`;
document.addEventListener('input', event => {
  const name = event.target.name && draftOf(event.target);
  if (name) sessionStorage.setItem(name, JSON.stringify([event.target.defaultValue, event.target.value]));
});
prepare(() => {
  for (const field of document.querySelectorAll('[data-draft] :is(textarea, input[type="text"]), textarea[data-draft]')) {
    if (field.dataset.restored !== undefined) continue;
    field.dataset.restored = '';
    const kept = sessionStorage.getItem(draftOf(field));
    if (!kept) continue;
    const [base, typed] = JSON.parse(kept);
    if (typed === field.defaultValue) sessionStorage.removeItem(draftOf(field));
    else if (field.value === field.defaultValue) {
      field.value = typed;
      const reply = field.closest('details');
      if (reply) reply.open = true;
      const note = base === field.defaultValue ? 'This is your draft.' : 'This is your draft; the text has changed since.';
      const drop = make('button', { type: 'button', class: 'quiet' }, 'Discard');
      const said = make('p', { class: 'muted small draft-note' }, note, ' ', drop);
      drop.addEventListener('click', () => {
        field.value = field.defaultValue;
        sessionStorage.removeItem(draftOf(field));
        said.remove();
      });
      field.after(said);
    }
  }
});
function forget(form) {
  for (const note of form?.querySelectorAll('.draft-note') ?? []) note.remove();
  for (const field of form?.elements ?? []) if (field.name && draftOf(field)) sessionStorage.removeItem(draftOf(field));
}

// A field that is completed as one types.
let suggesting = null;
async function suggest(field) {
  const query = encodeURIComponent(field.value);
  const page = await fetched(`${field.dataset.suggest}?query=${query}`);
  const options = page.querySelectorAll('option');
  document.getElementById(field.getAttribute('list'))?.replaceChildren(...options);
}
document.addEventListener('focusin', event => {
  if (event.target.matches('[data-suggest]')) suggest(event.target).catch(() => {});
});
document.addEventListener('input', event => {
  if (!event.target.matches('[data-suggest]')) return;
  clearTimeout(suggesting);
  suggesting = setTimeout(() => suggest(event.target).catch(() => {}), 120);
});
// Whoever types a title means what has it.
const IS_NAME = /^\S*-\d+$|^[\da-f-]{36}$/i;
document.addEventListener('submit', async event => {
  const form = event.target;
  const isTitle = field => field.dataset.suggest && !field.dataset.suggest.endsWith('/user') && field.value.trim() && !IS_NAME.test(field.value.trim());
  const field = [...form.elements].find(isTitle);
  if (!field) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const typed = field.value.trim();
  clearTimeout(suggesting);
  if (!(await suggest(field).then(() => true, () => false))) return bar('offline', 'The server cannot be reached. What you typed is kept; try again in a moment.');
  const options = [...document.getElementById(field.getAttribute('list')).options];
  const same = options.filter(option => option.label.toLowerCase() === typed.toLowerCase());
  const [found, ...others] = same.length ? same : options;
  if (found && !others.length) {
    field.value = found.value;
    return form.requestSubmit(event.submitter);
  }
  for (const old of form.querySelectorAll('.error')) old.remove();
  field.setAttribute('aria-invalid', 'true');
  field.after(make('p', { class: 'error', role: 'alert' }, found ? `${options.length} have these words: choose one` : 'Nothing has these words'));
  field.focus();
}, true);

// A passage that is selected can be commented on; passages that were are marked.
document.addEventListener('selectionchange', () => {
  const selection = getSelection();
  const text = selection.toString().trim();
  const place = selection.anchorNode?.parentElement?.closest('[data-quotable]');
  document.querySelector('.quote-button')?.remove();
  if (!text || !place || !place.contains(selection.focusNode) || !canComment(place)) return;
  const box = selection.getRangeAt(0).getBoundingClientRect();
  const button = make('button', { type: 'button', class: 'quote-button' }, 'Comment on this');
  button.style.top = `${box.bottom + scrollY + 6}px`;
  button.style.left = `${Math.max(8, Math.min(box.left + scrollX, innerWidth - 160))}px`;
  button.addEventListener('mousedown', event => event.preventDefault());
  button.addEventListener('click', () => quote(place, text));
  document.body.append(button);
});
// Comments stand below an item; in a document they are shown below a section when somebody asks for them.
const commentsLink = place => document.querySelector(`[data-comments="${CSS.escape(place.dataset.quotable)}"]`);
const canComment = place => commentsLink(place) ?? document.querySelector('#comment-quote');
let quoted = null;
function quote(place, text) {
  document.querySelector('.quote-button')?.remove();
  quoted = text;
  const link = commentsLink(place);
  const isShown = document.querySelector('#comment-quote')?.form.elements.reference.value === place.dataset.quotable;
  link && !isShown ? link.click() : writeComment();
}
function writeComment() {
  if (quoted !== null) document.querySelector('#comment-quote').value = quoted;
  quoted = null;
  const field = document.querySelector('#comment-new');
  field?.scrollIntoView({ block: 'center' });
  field?.focus();
}
document.addEventListener('htmx:after:swap', event => {
  if (event.detail.ctx.select === '#comments') writeComment();
});
prepare(() => {
  if (!CSS.highlights) return;
  const ranges = [];
  for (const quoted of document.querySelectorAll('blockquote[data-quote]')) {
    const place = document.querySelector(`[data-quotable="${CSS.escape(quoted.dataset.quote)}"]`);
    if (place) ranges.push(...occurrences(place, quoted.textContent));
  }
  CSS.highlights.set('commented', new Highlight(...ranges));
});

// Where a text is in the page, across the elements that it is marked up with; blanks are all alike.
function occurrences(place, text) {
  const nodes = [];
  let all = '';
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    nodes.push([all.length, walker.currentNode]);
    all += walker.currentNode.data;
  }
  const pattern = text.trim().split(/\s+/).map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+');
  const found = pattern && all.match(new RegExp(pattern));
  if (!found) return [];
  const at = index => {
    const [start, node] = nodes.findLast(([start]) => start <= index);
    return [node, Math.min(index - start, node.length)];
  };
  const range = new Range();
  range.setStart(...at(found.index));
  range.setEnd(...at(found.index + found[0].length - 1));
  range.setEnd(range.endContainer, Math.min(range.endOffset + 1, range.endContainer.length));
  return [range];
}
