// The tree: nodes are opened and items shown without leaving the page, by clicks or by arrow keys. The address follows.
{
  const ROWS_MAX = 500;
  const tree = () => document.querySelector('[data-tree]');
  const nodes = () => [...document.querySelectorAll('[data-tree] [role="treeitem"]')];
  const group = node => node.querySelector(':scope > [role="group"]');
  const isOpen = node => node.getAttribute('aria-expanded') === 'true';

  // One node can be reached by Tab, and from it the others by arrows.
  function prepare() {
    if (!tree()) return;
    const all = nodes();
    const chosen = all.find(node => node.tabIndex === 0) ?? all.find(node => node.ariaSelected === 'true') ?? all[0];
    for (const node of all) node.tabIndex = node === chosen ? 0 : -1;
    for (const link of document.querySelectorAll('[data-tree] a')) link.tabIndex = -1;
  }

  function focus(node) {
    if (!node) return;
    for (const other of nodes()) other.tabIndex = -1;
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
    node.querySelector('.node').scrollIntoView({ block: 'nearest' });
  }

  function visible() {
    return nodes().filter(node => node.checkVisibility());
  }

  function remember() {
    const url = new URL(location.href);
    const open = nodes().filter(isOpen).map(node => node.dataset.reference);
    url.searchParams.delete('open');
    const rest = url.search.slice(1);
    const parts = [rest, open.length && 'open=' + open.join(',')].filter(Boolean);
    history.replaceState(history.state, '', url.pathname + (parts.length ? '?' + parts.join('&') : ''));
  }

  async function open(node) {
    if (group(node)) {
      group(node).hidden = false;
    } else {
      node.ariaBusy = 'true';
      const answer = await fetch(`${tree().dataset.tree}?below=${node.dataset.reference}`, { headers: { accept: 'text/html' } }).catch(() => null);
      node.ariaBusy = null;
      if (!answer?.ok) return toast('What is below could not be loaded');
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const found = page.querySelector('main [role="group"]');
      if (!found) return;
      if (nodes().length + found.children.length > ROWS_MAX) return toast(`More than ${ROWS_MAX} rows: close something first`);
      if (!group(node)) node.append(found);
      prepare();
    }
    node.ariaExpanded = 'true';
    twistLabel(node, 'Close ');
    remember();
  }

  function close(node) {
    if (group(node)) group(node).hidden = true;
    node.ariaExpanded = 'false';
    twistLabel(node, 'Open ');
    remember();
  }

  function twistLabel(node, word) {
    node.querySelector('.twist').setAttribute('aria-label', word + node.dataset.reference);
  }

  async function choose(node) {
    for (const other of nodes()) other.ariaSelected = String(other === node);
    const reference = node.dataset.reference;
    await htmx.ajax('GET', `${tree().dataset.tree}?only=item&item=${reference}`, { target: '#item', select: '#item', swap: 'outerHTML', push: 'false' });
    const url = new URL(location.href);
    url.searchParams.set('item', reference);
    history.replaceState(history.state, '', url);
    remember();
    // The stream of changes looks whether there is something to follow.
    document.dispatchEvent(new Event('visibilitychange'));
    if (innerWidth <= 760) document.querySelector('#item').scrollIntoView();
  }

  document.addEventListener('click', event => {
    const node = event.target.closest('[data-tree] [role="treeitem"]');
    if (!node || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest('.twist')) {
      event.preventDefault();
      isOpen(node) ? close(node) : node.ariaExpanded && open(node);
      focus(node);
    } else if (event.target.closest('.entry')) {
      event.preventDefault();
      focus(node);
      choose(node);
    }
  });

  document.addEventListener('keydown', event => {
    const node = event.target.matches?.('[data-tree] [role="treeitem"]') && event.target;
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = visible(), at = all.indexOf(node);
    const canOpen = node.hasAttribute('aria-expanded');
    const does = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () => canOpen && (isOpen(node) ? focus(all[at + 1]) : open(node)),
      ArrowLeft: () => canOpen && isOpen(node) ? close(node) : focus(node.parentElement.closest('[role="treeitem"]')),
      Enter: () => choose(node),
      ' ': () => choose(node),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  }, true);

  // A form beside the tree comes back to the tree as it is now.
  document.addEventListener('submit', event => {
    const next = tree() && event.target.closest('.move')?.querySelector('[name="_next"]');
    if (next) next.value = location.pathname + location.search;
  }, true);

  prepare();
}
