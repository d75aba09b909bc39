// Exact times in the reader's own zone.
prepare(() => {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (!isNaN(at)) time.title = at.toLocaleString();
  }
});
