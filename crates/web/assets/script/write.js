// Forms that put their answer into the page. What is wrong is said at the fields; what was typed stays, whatever happens.

// A page is another one only if its address is.
document.addEventListener('htmx:before:history:update', event => {
  const { path } = event.detail.history;
  const same = new URL(path, location.href).href === location.href;
  if (same || path.startsWith('/do/')) event.preventDefault();
});

document.addEventListener('htmx:before:swap', event => {
  const { ctx } = event.detail;
  if (!ctx.response || ctx.request.method === 'GET') return;
  const answer = new DOMParser().parseFromString(ctx.text, 'text/html');
  const problem = answer.querySelector('body > [data-problem]');
  const signIn = answer.querySelector('body > [data-sign-in]');
  if (!problem && !signIn) return;
  event.preventDefault();
  if (problem) say(ctx.sourceElement, problem);
  else signInAgain(ctx.sourceElement, signIn);
});

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
  // A choice that was refused is what it was.
  for (const choice of form.querySelectorAll('select[data-submit]')) {
    for (const option of choice.options) option.selected = option.defaultSelected;
  }
}

function countDown(message, seconds) {
  const said = message.textContent;
  const next = () => {
    message.textContent = seconds > 0 ? `${said} (${seconds} s)` : 'Try again now.';
    if (seconds-- > 0 && message.isConnected) setTimeout(next, 1000);
  };
  next();
}

// The session has ended. Whoever signs in again goes on where they were.
function signInAgain(form, signIn) {
  const box = dialog('Sign in', signIn);
  signIn.addEventListener('submit', async event => {
    event.preventDefault();
    const answer = await fetch(signIn.action, { method: 'POST', body: new URLSearchParams(new FormData(signIn)) });
    if (!answer.ok) return (signIn.querySelector('.error').hidden = false);
    box.close();
    form.requestSubmit();
  });
}

// A server that does not answer is a bar, not a page.
document.addEventListener('htmx:error', event => {
  bar('offline', 'The server cannot be reached. What you typed is kept; try again in a moment.');
  console.debug?.(event.detail.error);
});
document.addEventListener('htmx:before:response', () => unbar('offline'));
addEventListener('offline', () => bar('offline', 'You are offline. What you typed is kept.'));
addEventListener('online', () => unbar('offline'));
