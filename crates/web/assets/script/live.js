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
