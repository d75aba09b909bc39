// Forms that put their answer into the page. What is wrong is said at the fields; what was typed stays, whatever happens.

// A page is another one only if its address is.
document.addEventListener('htmx:before:history:update', event => {
  const { path } = event.detail.history;
  const same = new URL(path, location.href).href === location.href;
  if (same || path.startsWith('/do/')) event.preventDefault();
});

document.addEventListener('htmx:before:swap', event => {
  const { ctx } = event.detail;
  if (!ctx.response || ctx.response.status < 400) return;
  const answer = new DOMParser().parseFromString(ctx.text, 'text/html');
  const problem = answer.querySelector('body > [data-problem]');
  const signIn = answer.querySelector('body > [data-sign-in]');
  // A part of a page that could not be had leaves what is there.
  const isPart = ctx.request.method === 'GET' && ctx.select;
  if (!problem && !signIn && !isPart) return;
  event.preventDefault();
  if (problem) say(ctx.sourceElement, problem);
  else if (signIn) signInAgain(signIn, () => again(ctx));
  else bar('offline', answer.querySelector('.message p')?.textContent ?? 'The server could not do this.');
});

// Asks once more for what was refused.
function again(ctx) {
  if (ctx.sourceElement?.matches('form')) ctx.sourceElement.requestSubmit();
  else if (ctx.sourceElement?.matches('[hx-get]')) ctx.sourceElement.click();
  else catchUp();
}

// What is put into a page takes no focus by itself: somebody may be typing elsewhere.
document.addEventListener('htmx:before:swap', event => {
  for (const { fragment } of event.detail.tasks) for (const field of fragment.querySelectorAll('[autofocus]')) field.removeAttribute('autofocus');
});

// Whoever asked for the form of a text wants to write.
document.addEventListener('htmx:after:swap', event => {
  if (event.detail.ctx.select === '#edit') document.querySelector('#edit :is(input[type="text"], textarea)')?.focus();
});

// What was sent is done: the form is as new, and its draft is not needed any more.
document.addEventListener('htmx:after:swap', event => {
  const { ctx } = event.detail;
  if (ctx.request?.method !== 'POST' || ctx.response.status >= 400) return;
  forget(ctx.request.form);
  if (ctx.request.form?.isConnected) ctx.request.form.reset();
});

function say(form, problem) {
  for (const old of form.querySelectorAll('.error')) old.remove();
  if (['503', '504'].includes(problem.dataset.problem)) {
    unchoose(form);
    return bar('offline', problem.querySelector('p').cloneNode(true), 'What you typed is kept; try again in a moment.');
  }
  const fields = [...problem.querySelectorAll('[data-field]')];
  let first = null;
  for (const { dataset, textContent } of fields) {
    const field = form.elements.namedItem(dataset.field);
    if (!field?.after || field.type === 'hidden') continue;
    field.setAttribute('aria-invalid', 'true');
    field.after(make('p', { class: 'error', role: 'alert' }, textContent));
    first ??= field;
  }
  if (first) return first.focus();
  const message = make('p', { class: 'error', role: 'alert' }, problem.querySelector('p').textContent);
  form.append(message);
  if (problem.dataset.retry) countDown(message, Number(problem.dataset.retry));
  unchoose(form);
}

// A choice that was not taken is what it was.
function unchoose(form) {
  for (const choice of form.elements ?? []) {
    if (choice.matches('select[data-submit]')) for (const option of choice.options) option.selected = option.defaultSelected;
  }
}

function countDown(message, seconds) {
  const said = message.textContent;
  // A message that ends with the seconds counts them where they are.
  const left = () => (/\d+ s$/.test(said) ? said.replace(/\d+ s$/, `${seconds} s`) : `${said} (${seconds} s)`);
  const next = () => {
    message.textContent = seconds > 0 ? left() : 'Try again now.';
    if (seconds-- > 0 && message.isConnected) setTimeout(next, 1000);
  };
  next();
}
prepare(() => {
  for (const message of document.querySelectorAll('main [data-retry]')) {
    countDown(message, Number(message.dataset.retry));
    delete message.dataset.retry;
  }
});

// The session has ended. Whoever signs in again goes on where they were.
function signInAgain(signIn, goOn) {
  if (document.querySelector('dialog [data-sign-in]')) return;
  const box = dialog('Sign in', signIn);
  signIn.addEventListener('submit', async event => {
    event.preventDefault();
    const answer = await fetch(signIn.action, { method: 'POST', body: new URLSearchParams(new FormData(signIn)) }).catch(() => null);
    if (answer?.ok) {
      box.close();
      return goOn();
    }
    const said = answer && new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('.error');
    const message = make('p', { class: 'error', role: 'alert' }, said?.textContent ?? 'The server cannot be reached.');
    signIn.querySelector('.error').replaceWith(message);
    if (said?.dataset.retry) countDown(message, Number(said.dataset.retry));
  });
}

// A server that does not answer is a bar, not a page.
document.addEventListener('htmx:error', event => {
  bar('offline', 'The server cannot be reached. What you typed is kept; try again in a moment.');
  const sent = event.detail.ctx?.sourceElement;
  if (sent?.matches?.('form')) unchoose(sent);
  console.debug?.(event.detail.error);
});
document.addEventListener('htmx:before:response', () => unbar('offline'));
addEventListener('offline', () => bar('offline', 'You are offline. What you typed is kept.'));
addEventListener('online', () => unbar('offline'));
