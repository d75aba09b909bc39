// The palette: find or open anything by typing. What there is, the server says.
function openPalette() {
  const project = document.querySelector('[data-palette]')?.dataset.palette ?? '';
  const input = make('input', {
    type: 'text', class: 'palette-input', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-options',
    'aria-label': 'Find or open anything', placeholder: 'Find or open anything', autocomplete: 'off',
  });
  const list = make('ul', { id: 'palette-options', class: 'palette-options', role: 'listbox', 'aria-label': 'Found' });
  const box = dialog('Find or open anything', input, list);
  box.classList.add('palette');
  let asked = 0;
  const ask = async () => {
    const number = ++asked;
    const query = new URLSearchParams({ query: input.value, project });
    const page = await fetched(`/palette?${query}`).catch(() => null);
    if (!page || number !== asked) return;
    list.replaceChildren(...page.children);
    [...list.children].forEach((option, at) => (option.id = `palette-${at}`));
    choose(0);
  };
  const choose = at => {
    const options = [...list.children];
    options.forEach((option, index) => option.setAttribute('aria-selected', index === at));
    options[at]?.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', options[at]?.id ?? '');
  };
  let timer = null;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 80);
  });
  input.addEventListener('keydown', event => {
    const options = [...list.children];
    const at = options.findIndex(option => option.getAttribute('aria-selected') === 'true');
    if (event.key === 'ArrowDown') choose(Math.min(options.length - 1, at + 1));
    else if (event.key === 'ArrowUp') choose(Math.max(0, at - 1));
    else if (event.key === 'Enter') options[at]?.querySelector('a').click();
    else return;
    event.preventDefault();
  });
  ask();
}
document.addEventListener('keydown', event => {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  openPalette();
});
document.addEventListener('click', event => {
  if (event.target.closest('[data-palette]')) openPalette();
});
