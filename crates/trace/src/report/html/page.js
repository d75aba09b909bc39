// Holds the page together: where the reader is, what the fragment says, and the keys.

/** Where the reader is. An annotation is chosen where a quoted text belongs to no requirement. */
const current = { specification: null, section: null, requirement: null, annotation: null, annotations: [] };

/** What is shown where no fragment says otherwise: the first specification that requires something. */
const firstShown = specifications.find((specification) => specification.requirements.length > 0) ?? specifications[0];

/** The fragment that the page shows. */
let followed = null;

/** Goes to an address within the page, at once: who presses a key twice means the next but one. */
function go(address) {
  location.hash = address;
  follow();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

/** Goes where the fragment says. */
function follow() {
  followed = location.hash;
  let parts;
  try {
    parts = location.hash.slice(1).split("/").map(decodeURIComponent);
  } catch {
    parts = [];
  }
  const specification = specifications.find((candidate) => candidate.id === parts[0]) ?? current.specification ?? firstShown;
  if (specification === undefined) return;
  const isNew = specification !== current.specification;
  const section = specification.sections.find((candidate) => candidate.id === parts[1]) ?? null;
  const requirement = section?.requirements.find((candidate) => candidate.id === parts[2]) ?? null;
  const place = section !== null && requirement === null && parts[2]?.startsWith("@") ? parts.slice(2).join("/").slice(1) : null;
  const annotation = place === null ? -1 : data.annotations.findIndex((candidate) => `${data.files[candidate.f][0]}:${candidate.l}` === place);
  if (annotation !== current.annotation) current.annotations = clicked;
  clicked = [];
  Object.assign(current, { specification, section, requirement, annotation: annotation < 0 ? null : annotation });
  if (isNew) {
    unfolded.add(specification);
    showOutline();
    showSpecification(specification);
  }
  refreshPieces();
  showDetail();
  if (requirement) revealLine(section, requirement.line ?? -1, ".piece.selected");
  else if (current.annotation !== null) revealQuote(section);
  else if (section) revealLine(section, -1);
  else textPane.scrollTop = 0;
  revealInNavigator();
  document.body.classList.remove("has-navigator");
}

function revealQuote(section) {
  const isThere = (line) => typeof line !== "string" && line.some((piece) => typeof piece !== "string" && piece[3].includes(current.annotation));
  const line = isThere(section.titleLine) ? -1 : section.lines.findIndex(isThere);
  revealLine(section, line, ".piece.selected");
}

/** All annotations of the text that was clicked last. */
let clicked = [];

textPane.addEventListener("click", (event) => {
  const made = event.target.closest(".piece");
  if (made === null || String(getSelection()) !== "") return;
  const { requirements: all, annotations, section } = pieceOf.get(made);
  if (all.length > 0) {
    // Where several overlap, each click takes the next.
    const next = all[(all.indexOf(current.requirement) + 1) % all.length];
    go(addressOfRequirement(next));
  } else if (annotations.length > 0) {
    clicked = annotations;
    const first = data.annotations[annotations[0]];
    go(addressOf(section.specification, section, `@${data.files[first.f][0]}:${first.l}`));
  }
});

/** Goes to the next or the previous requirement that the filter lets through. */
function step(direction) {
  if (matching.length === 0) return announce("No requirement matches", true);
  let index;
  if (current.requirement) {
    const after = matching.findIndex((requirement) => requirement.index >= current.requirement.index);
    const isHere = matching[after] === current.requirement;
    index = after < 0 ? (direction > 0 ? matching.length : matching.length - 1) : direction > 0 ? after + (isHere ? 1 : 0) : after - 1;
  } else {
    const place = (requirement) => requirement.specification.index * 1e6 + requirement.section;
    const here = (current.specification?.index ?? 0) * 1e6 + (current.section?.index ?? 0);
    const after = matching.findIndex((requirement) => place(requirement) >= here);
    index = direction > 0 ? (after < 0 ? matching.length : after) : (after < 0 ? matching.length : after) - 1;
  }
  if (index < 0 || index >= matching.length) return announce(direction > 0 ? "That was the last" : "That was the first", true);
  go(addressOfRequirement(matching[index]));
  const found = matching[index];
  announce(`${found.level}, ${states[found.state].name}: ${textOf(found)}`);
}

/** Brings everything up to date after the filter changed. */
function refreshFilter() {
  applyFilter();
  for (const [chip, values, value] of chips) chip.setAttribute("aria-pressed", values.has(value));
  byId("clear").hidden = !isFiltered();
  showRequirements();
  outlineList.refresh();
  refreshPieces();
  chooseTab(isFiltered() ? "requirements" : "outline");
  if (current.requirement) showDetail();
  announce(`${matching.length} of ${requirements.length} requirements`);
}

function clearFilter() {
  filter.states.clear();
  filter.levels.clear();
  filter.words = [];
  byId("search").value = "";
  refreshFilter();
}

/** Buttons, each with the set of the filter that it belongs to and the value that it stands for. */
const chips = [];

function makeChips() {
  const chip = (box, values, value, ...content) => {
    const made = element("button.chip", { type: "button", "aria-pressed": "false", onclick: () => {
      if (!values.delete(value)) values.add(value);
      refreshFilter();
    } }, ...content);
    chips.push([made, values, value]);
    byId(box).append(made);
  };
  const totals = countStates(requirements);
  states.forEach((state, index) => chip("states", filter.states, index, mark(state), state.name, " ", element("span.count", {}, String(totals[index]))));
  for (const level of levels) {
    const n_level = requirements.filter((requirement) => requirement.level === level).length;
    if (n_level > 0) chip("levels", filter.levels, level, levelBadge(level), " ", element("span.count", {}, String(n_level)));
  }
  const n_done = totals[0];
  const percent = requirements.length === 0 ? 0 : Math.floor((n_done * 100) / requirements.length);
  const n_specifications = specifications.length;
  byId("summary").textContent = requirements.length === 0
    ? "no requirements"
    : `${percent} % of ${requirements.length} requirements done in ${n_specifications} specification${n_specifications === 1 ? "" : "s"}`;
  byId("total").append(bar(totals, ".wide"));
}

function makeLegend() {
  const row = (state) => [element("dt", {}, mark(state), " ", element(`span.piece.${state.key}`, {}, state.name)), element("dd", {}, state.about)];
  byId("legend").append(element("dl.keys", {}, ...[...states, quoted].flatMap(row)));
}

function toggleNavigator() {
  chooseTab("outline");
  const isOpen = document.body.classList.toggle("has-navigator");
  revealInNavigator();
  byId("open-navigator").setAttribute("aria-expanded", isOpen);
  (byId("outline").querySelector("[aria-current]") ?? byId("outline").querySelector("a"))?.focus({ preventScroll: true });
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  "/": () => byId("search").select(),
  o: toggleNavigator,
  "?": () => byId("help").showModal(),
  c: () => (current.requirement ? copyCitation(current.requirement) : announce("Choose a requirement first", true)),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const isTyping = event.target.matches?.("input, select, textarea");
  if (event.key === "Escape") {
    if (document.body.classList.contains("has-navigator")) document.body.classList.remove("has-navigator");
    else if (isFiltered() || byId("search").value) clearFilter();
    else if (current.requirement || current.annotation !== null) go(addressOf(current.specification, current.section));
    if (isTyping) event.target.blur();
    return;
  }
  if (event.key === "Enter" && event.target === byId("search") && matching.length > 0) {
    go(addressOfRequirement(matching[0]));
    event.target.blur();
    return;
  }
  const action = isTyping ? undefined : keys[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
});

let scrollFrame = 0;
textPane.addEventListener("scroll", () => {
  cancelAnimationFrame(scrollFrame);
  scrollFrame = requestAnimationFrame(() => {
    if (current.requirement || current.annotation !== null || current.specification === null) return;
    const section = sectionInView();
    if (section === current.section) return;
    current.section = section;
    outlineList.refresh();
    outlineList.reveal(outlineItems.indexOf(section ?? current.specification));
    showDetail();
  });
}, { passive: true });

byId("search").addEventListener("input", (event) => {
  filter.words = readWords(event.target.value);
  refreshFilter();
});
byId("clear").addEventListener("click", clearFilter);
byId("open-help").addEventListener("click", keys["?"]);
byId("open-navigator").addEventListener("click", toggleNavigator);
byId("skip").addEventListener("click", () => textPane.focus());
for (const tab of ["outline", "requirements"]) {
  byId(`tab-${tab}`).addEventListener("click", () => chooseTab(tab));
  byId(`tab-${tab}`).addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = tab === "outline" ? "requirements" : "outline";
    chooseTab(other);
    byId(`tab-${other}`).focus();
  });
}

/** On paper there is no scrolling: all sections with their counts, then the text of the specification. */
addEventListener("beforeprint", () => {
  for (const chunk of chunks.keys()) renderChunk(chunk);
  const row = (selector, name, counts) => element(selector, {}, element("td", {}, name), ...counts.map((count) => element("td", {}, String(count))));
  const rows = specifications.flatMap((specification) => [
    row("tr.specification", specification.name, specification.counts),
    ...specification.sections.filter((section) => section.requirements.length > 0)
      .map((section) => row("tr", `${section.number} ${section.title}`.trim(), section.counts)),
  ]);
  const head = element("tr", {}, element("th", {}, "section"), ...states.map((state) => element("th", {}, mark(state), " ", state.name)));
  byId("print").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
});

showProblems();
makeChips();
makeLegend();
showOutline();
showRequirements();
addEventListener("hashchange", () => {
  if (location.hash !== followed) follow();
});
if (specifications.length > 0) follow();
else textPane.append(element("p.message", {}, "No annotation of this project speaks of a specification yet."));
performance.mark("shown");
