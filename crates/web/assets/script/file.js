// A file is put into the field that it is for; its name tells the format.
const FILE_MAX_BYTES = 9 << 20;

document.addEventListener('change', async event => {
  const input = event.target.closest('input[data-file]');
  const file = input?.files[0];
  if (!file) return;
  if (file.size > FILE_MAX_BYTES) return toast('This file is too large for a form; use the command line');
  input.form.elements.namedItem(input.dataset.file).value = await file.text();
  const format = input.form.elements.namedItem('format');
  const meant = { json: 'json', csv: 'csv', md: 'markdown', markdown: 'markdown', reqif: 'reqif', xml: 'reqif' };
  const ending = meant[file.name.split('.').pop().toLowerCase()];
  if (format && ending) format.value = ending;
});
