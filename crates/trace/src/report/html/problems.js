// What is wrong with the project, above everything else.

/** How many problems are shown at first, and with each click on more. */
const PROBLEMS_AT_ONCE = 50;

function showProblems() {
  const problems = data.problems;
  if (problems.length === 0) return;
  const box = byId("problems");
  const n_errors = problems.filter((problem) => problem.is_error).length;
  const counted = [[n_errors, "error"], [problems.length - n_errors, "warning"]].filter(([count]) => count > 0);
  const words = counted.map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`).join(", ");
  const list = element("ol.problems.scroller");
  const more = element("button.quiet", { type: "button", onclick: () => add() });
  let n_shown = 0;
  function add() {
    const next = problems.slice(n_shown, n_shown + PROBLEMS_AT_ONCE);
    list.append(...next.map(problemRow));
    n_shown += next.length;
    more.textContent = `Show more (${problems.length - n_shown} left)`;
    more.hidden = n_shown >= problems.length;
  }
  add();
  const hint = n_errors > 0 ? "what they concern is missing below" : "";
  const title = element("summary", {}, element("strong", {}, words), " ", element("span.muted", {}, hint));
  box.append(title, list, more);
  box.classList.toggle("has-errors", n_errors > 0);
  box.open = n_errors > 0 && n_errors <= 3;
  box.parentElement.hidden = false;
}

function problemRow(problem) {
  const kind = problem.is_error ? "error" : "warning";
  const row = element(`li.${kind}`, {},
    element("p", {}, element("span.severity", {}, kind), " ", element("strong", {}, problem.message), " ",
      element("code.muted", {}, problem.code)));
  for (const place of problem.places) row.append(placeRow(place));
  for (const help of problem.help) row.append(element("p.help", {}, help));
  return row;
}

function placeRow(place) {
  const file = data.files.findIndex(([path]) => path === place.path);
  const address = file >= 0 ? fileAddress(file, place.line) : null;
  const name = place.line > 0 ? `${place.path}:${place.line}:${place.column}` : place.path;
  const row = element("div.place", {}, outside(name, address, ".file"));
  if (place.excerpt !== "") {
    const characters = [...place.excerpt];
    const [start, end] = [place.column - 1, place.column - 1 + place.width];
    const part = (from, to) => characters.slice(from, to).join("");
    row.append(element("pre", {}, part(0, start).trimStart(), element("em", {}, part(start, end)), part(end)));
  }
  if (place.label !== "") row.append(element("span.muted", {}, place.label));
  return row;
}
