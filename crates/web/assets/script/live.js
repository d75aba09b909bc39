// What others change is shown as it happens, while the page is looked at. An item is put into the page anew, and what is being
// typed stays; a list never jumps, it says how much is new.
const item = () => document.querySelector('[data-live]');
const project = () => document.querySelector('#main')?.dataset.project;
const list = () => document.querySelector('main :is(.entities, .tree, .board)');
let stream = null;
let lastId = null;
let wasLost = false;
function follow() {
  if (document.hidden || !(item() || list())) {
    wasLost = stream !== null;
    stream?.close();
    stream = null;
  } else if (!stream) {
    stream = new EventSource('/api/v1/events' + (lastId ? `?after=${encodeURIComponent(lastId)}` : ''));
    const told = event => {
      lastId = event.lastEventId || lastId;
      if (event.data) heard(JSON.parse(event.data));
    };
    stream.addEventListener('change', told);
    stream.onopen = () => {
      // Where nothing was heard before, nothing says where to go on.
      if (wasLost && !lastId) refresh();
      wasLost = false;
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
      if (item()) refresh();
    });
  }
}

let waiting = null;
const news = new Set();
function heard(change) {
  const shown = item();
  if (shown) {
    // A comment or a link has the reference of what it belongs to, and a version of its own.
    const isOlder = `${change.reference_id}@${change.version}` === shown.dataset.live && !['comment', 'relationship'].includes(change.entity_kind);
    if (change.reference_id !== shown.dataset.reference || isOlder) return;
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 250);
  } else if (list() && change.project_id === project()) {
    // What this page has just changed itself is shown already.
    if (document.querySelector(`[data-version="${change.reference_id}@${change.version}"]`)) return;
    news.add(change.entity_id);
    clearTimeout(waiting);
    waiting = setTimeout(announce, 250);
  }
}

function announce() {
  const count = news.size > 20 ? 'Many things have' : news.size === 1 ? '1 thing has' : `${news.size} things have`;
  const button = make('button', { type: 'button', class: 'quiet' }, 'Show');
  button.addEventListener('click', () => location.reload());
  bar('news', `${count} changed. `, button);
}

function refresh() {
  if (!item()) return;
  // Whoever edits is told instead: the form has what it began with, and saving compares.
  if (item().querySelector('#edit')) return bar('news', 'Somebody else has changed this. Your text is kept; saving shows what differs.');
  htmx.ajax('GET', location.pathname + location.search, { target: '[data-live]', select: '[data-live]', swap: 'outerMorph', push: 'false' });
}
document.addEventListener('visibilitychange', follow);
prepare(follow);
