// What others change is shown as it happens, while the page is looked at. An item or a section is put into the page anew, and what
// is being typed stays; a list never jumps, it says how much is new.
const item = () => document.querySelector('[data-live]');
const project = () => document.querySelector('#main')?.dataset.project;
const list = () => document.querySelector('main :is(.entities, .tree, .board, .specification)');
let stream = null;
// Begins with what the page knew when it was made.
let lastId = document.querySelector('#main')?.dataset.after ?? null;
let wasLost = false;
// Whether something was heard of that could not be fetched.
let isBehind = false;
document.addEventListener('htmx:error', () => { isBehind = true; });
function follow() {
  if (document.hidden || !(item() || list())) {
    lose();
  } else if (!stream) {
    stream = new EventSource('/api/v1/events' + (lastId ? `?after=${encodeURIComponent(lastId)}` : ''));
    const told = event => {
      lastId = event.lastEventId || lastId;
      if (event.data) heard(JSON.parse(event.data));
    };
    stream.addEventListener('change', told);
    stream.onopen = () => {
      unbar('offline');
      // Where nothing was heard before, nothing says where to go on.
      if (isBehind || (wasLost && !lastId)) catchUp();
      wasLost = isBehind = false;
    };
    stream.onerror = () => {
      wasLost = true;
      // A browser gives up when a server answers with an error, as one that starts may.
      if (stream?.readyState !== EventSource.CLOSED) return;
      stream = null;
      setTimeout(follow, 3000);
    };
    // What happened since is not known any more: look at everything again.
    stream.addEventListener('reset', event => {
      lastId = event.lastEventId || null;
      catchUp();
    });
  }
}
// A browser that is back on the network need not wait for its next attempt.
addEventListener('online', () => {
  lose();
  follow();
});
function lose() {
  wasLost ||= stream !== null;
  stream?.close();
  stream = null;
}

let waiting = null;
// The newest version of the shown item that was heard of; what belongs to the item is newer than any.
let newest = 0;
// What has changed, as `REQ-012@7` by id.
const news = new Map();
const isShown = mark => document.querySelector(`[data-version="${CSS.escape(mark)}"]`) !== null;
function heard(change) {
  const mark = `${change.reference_id}@${change.version}`;
  // A comment or a link has the reference of what it belongs to, and a version of its own.
  const isOfItem = ['comment', 'relationship'].includes(change.entity_kind);
  const shown = item();
  if (shown && change.reference_id === shown.dataset.reference) {
    newest = Math.max(newest, isOfItem ? Infinity : change.version);
    clearTimeout(waiting);
    waiting = setTimeout(refreshIfOlder, 250);
  } else if (list() && change.project_id === project() && !isOfItem) {
    news.set(change.entity_id, mark);
    clearTimeout(waiting);
    waiting = setTimeout(announce, 250);
  }
}

// By now, what this page has changed itself is shown. Showing it once more could take away what the page says of the next change.
function refreshIfOlder() {
  const isOlder = newest > Number(item()?.dataset.live.split('@')[1]);
  newest = 0;
  if (isOlder) refresh();
}

// By now, what this page has changed itself is shown.
async function announce() {
  for (const [id, mark] of news) if (isShown(mark)) news.delete(id);
  if (news.size <= 20) await renew().catch(() => {});
  if (!news.size) return;
  const count = news.size > 20 ? 'Many things have' : news.size === 1 ? '1 thing has' : `${news.size} things have`;
  tell(`${count} changed. `);
}

function tell(text) {
  const button = make('button', { type: 'button', class: 'quiet' }, 'Show');
  button.addEventListener('click', () => location.reload());
  bar('news', text, button);
}

// Sections of a document are put into their places; one that is being edited stays.
async function renew() {
  const changed = [...news].map(([id, mark]) => [id, document.getElementById(mark.split('@')[0])]);
  const sections = changed.filter(([, section]) => section?.matches('.specification [data-version]'));
  if (!sections.length) return;
  const page = await fetched(location.pathname + location.search);
  for (const [id, section] of sections) {
    const fresh = page.querySelector(`#${CSS.escape(section.id)}`);
    if (section.querySelector('#edit')) {
      bar('edited', `Somebody else has changed ${section.id}. Your text is kept; saving shows what differs.`);
    } else if (fresh) {
      section.replaceWith(fresh);
      htmx.process(fresh);
    } else continue;
    news.delete(id);
  }
  preparations.forEach(prepared => prepared());
}

// Changes may have been missed: an item is shown anew; a list is compared with what it would be now.
async function catchUp() {
  if (item()) refresh();
  if (!list()) return;
  const marks = page => [...page.querySelectorAll('main [data-version], [data-tree] .node, .heading .count, h2 .count')]
    .map(mark => mark.dataset.version ?? mark.textContent);
  const shown = new Set(marks(document));
  const page = await fetched(location.pathname + location.search).catch(() => null);
  if (page && marks(page).some(mark => !shown.has(mark))) tell('Some things have changed. ');
}

function refresh() {
  if (!item() || isEdited()) return;
  htmx.ajax('GET', location.pathname + location.search, { target: '[data-live]', select: '[data-live]', swap: 'outerMorph', push: 'false', refreshes: true });
}
// Whoever edits is told instead: the form has what it began with, and saving compares.
function isEdited() {
  const form = item()?.querySelector('#edit');
  if (form) bar('news', 'Somebody else has changed this. Your text is kept; saving shows what differs.');
  return Boolean(form);
}
// An editor may have been opened while the item was fetched.
document.addEventListener('htmx:before:swap', event => {
  if (event.detail.ctx.refreshes && isEdited()) event.preventDefault();
});
// What somebody has opened to write an answer stays open while the rest is shown anew.
let opened = [];
document.addEventListener('htmx:before:swap', event => {
  const fields = event.detail.ctx.refreshes ? document.querySelectorAll('.reply[open] textarea[data-draft]') : [];
  opened = [...fields].map(field => field.dataset.draft);
});
prepare(() => {
  for (const draft of opened.splice(0)) {
    const field = document.querySelector(`.reply textarea[data-draft="${CSS.escape(draft)}"]`);
    if (field?.value !== field?.defaultValue) field.closest('details').open = true;
  }
});
document.addEventListener('visibilitychange', follow);
prepare(follow);
