// What a reference names, shown over the link to it: on hover after a moment, or with Space.
let peeking = null;
async function peek(link) {
  const reference = link && new URL(link.href).pathname.match(/^\/r\/([^/]+)$/)?.[1];
  if (!reference) return;
  const page = await fetched(`/r/${reference}/card`).catch(() => null);
  if (!page || !link.isConnected) return;
  unpeek();
  const card = make('div', { class: 'peek', role: 'tooltip' }, ...page.childNodes);
  document.body.append(card);
  const box = link.getBoundingClientRect();
  const fits = box.bottom + card.offsetHeight + 12 < innerHeight;
  card.style.top = `${scrollY + (fits ? box.bottom + 6 : Math.max(8, box.top - card.offsetHeight - 6))}px`;
  card.style.left = `${Math.max(8, Math.min(box.left, innerWidth - card.offsetWidth - 8)) + scrollX}px`;
}
function unpeek() {
  clearTimeout(peeking);
  document.querySelector('.peek')?.remove();
}
document.addEventListener('mouseover', event => {
  const link = event.target.closest?.('main a[href^="/r/"]');
  if (!link || link.closest('.item-head')) return;
  clearTimeout(peeking);
  peeking = setTimeout(() => peek(link), 350);
});
document.addEventListener('mouseout', event => {
  if (event.target.closest?.('a[href^="/r/"]')) unpeek();
});
addEventListener('keydown', event => {
  if (event.key !== ' ') unpeek();
});
addEventListener('scroll', unpeek, { passive: true });
