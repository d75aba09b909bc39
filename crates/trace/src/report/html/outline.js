// The left side: the outline of specifications and sections, and the list of requirements.

const outlineList = longList(byId("outline"), 32, outlineRow);
const requirementList = longList(byId("requirements"), 72, requirementRow);

/** Specifications whose sections are listed. */
const unfolded = new Set(specifications.length === 1 ? specifications : []);
let outlineItems = [];

function showOutline() {
  outlineItems = specifications.flatMap((specification) =>
    unfolded.has(specification) ? [specification, ...specification.sections] : [specification]);
  outlineList.show(outlineItems);
}

function showRequirements() {
  requirementList.show(matching);
  byId("count").textContent = isFiltered() ? `${matching.length} of ${requirements.length}` : `${requirements.length}`;
}

/** Lists the sections of a specification, or no longer. */
function fold(specification, isOpen) {
  if (isOpen) unfolded.add(specification);
  else unfolded.delete(specification);
  showOutline();
}

function outlineRow(item) {
  const isSpecification = item.sections !== undefined;
  const specification = isSpecification ? item : item.specification;
  const n_matching = item.requirements.reduce((sum, requirement) => sum + isMatching[requirement.index], 0);
  const n_all = item.requirements.length;
  const isCurrent = isSpecification ? current.section === null && current.specification === item : current.section === item;
  const title = isSpecification
    ? element("span.name", {}, item.name, item.about ? element("span.about", {}, ` ${item.about}`) : null)
    : element("span.name", {}, item.number ? element("span.number", {}, `${item.number} `) : null, item.title);
  const count = n_all === 0 ? "" : isFiltered() ? `${n_matching}/${n_all}` : `${item.counts[0]}/${n_all}`;
  const about = isFiltered() ? `${n_matching} of ${n_all} match` : `${item.counts[0]} of ${n_all} done`;
  const link = element("a.row", {
    href: isSpecification ? addressOf(item) : addressOf(specification, item),
    title: isSpecification ? [item.about, item.target].filter(Boolean).join("\n") : `${item.number} ${item.title}`.trim(),
    "aria-current": isCurrent ? "location" : null,
  }, title, ...(n_all === 0 ? [] : [element("span.count", { title: about }, count, hidden(` ${about}`)), bar(item.counts)]));
  link.style.setProperty("--depth", isSpecification ? 0 : item.depth);
  link.classList.toggle("faint", isFiltered() ? n_matching === 0 : n_all === 0 && !isSpecification && !item.isCited);
  if (!isSpecification) return link;
  link.classList.add("specification");
  const isOpen = unfolded.has(item);
  const button = element("button.fold", {
    type: "button", "aria-expanded": isOpen, "aria-label": `Sections of ${item.name}`,
    onclick: () => fold(item, !isOpen),
  }, isOpen ? "▾" : "▸");
  return element("div.foldable", {}, button, link);
}

function requirementRow(requirement) {
  const section = sectionOf(requirement);
  const state = states[requirement.state];
  return element("a.row.requirement", {
    href: addressOfRequirement(requirement),
    "aria-current": current.requirement === requirement ? "true" : null,
  }, mark(state), element("span.where", {}, levelBadge(requirement.level), " ",
    element("span.muted", {}, [`${section.number} ${section.title}`.trim(), ...several(requirement.specification.name)].join(" · ")),
    hidden(` ${state.name}`)), element("span.excerpt", {}, textOf(requirement)));
}

/** The name of a specification need not be said where there is one. */
const several = (name) => (specifications.length > 1 ? [name] : []);

/** Chooses between outline and requirements. */
function chooseTab(name) {
  for (const tab of ["outline", "requirements"]) {
    byId(`tab-${tab}`).setAttribute("aria-selected", tab === name);
    byId(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    byId(tab).hidden = tab !== name;
  }
  revealInNavigator();
}

/** Shows where we are. */
function revealInNavigator() {
  outlineList.refresh();
  requirementList.refresh();
  outlineList.reveal(outlineItems.indexOf(current.section ?? current.specification));
  if (current.requirement) requirementList.reveal(matching.indexOf(current.requirement));
}
