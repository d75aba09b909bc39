// The right side: what is said of a requirement, or of a quoted text.

const detailPane = byId("detail");

function showDetail() {
  const { requirement, annotation, section, specification } = current;
  if (requirement) detailPane.replaceChildren(...requirementDetail(requirement));
  else if (annotation !== null) detailPane.replaceChildren(...quoteDetail(annotation, current.annotations));
  else if (specification) detailPane.replaceChildren(...overview(section ?? specification));
  detailPane.scrollTop = 0;
  document.body.classList.toggle("has-detail", Boolean(requirement) || annotation !== null);
}

const closeButton = () => element("button.quiet.close.narrow-only", {
  type: "button", "aria-label": "Close", onclick: () => go(addressOf(current.specification, current.section)),
}, "✕");

function requirementDetail(requirement) {
  const state = states[requirement.state];
  const section = sectionOf(requirement);
  const position = matching.indexOf(requirement);
  const steps = element("span.steps", {},
    element("button.quiet", { type: "button", "aria-label": "Previous requirement", title: "Previous (k)", onclick: () => step(-1) }, "↑"),
    element("span.muted", {}, position >= 0 ? `${position + 1} of ${matching.length}` : "not in the filter"),
    element("button.quiet", { type: "button", "aria-label": "Next requirement", title: "Next (j)", onclick: () => step(1) }, "↓"));
  const same = requirement.specification.requirements.filter((other) =>
    other !== requirement && other.section === requirement.section && other.line === requirement.line);
  return [
    element("div.bar-top", {}, steps, closeButton()),
    element(`p.state.${state.key}`, {}, mark(state), element("strong", {}, state.name), " ", levelBadge(requirement.level)),
    element("blockquote", {}, textOf(requirement)),
    element("p.muted.small", {}, element("a", { href: addressOf(requirement.specification, section) },
      `${requirement.specification.name}, ${section.number ? `${section.number} ` : ""}${section.title}`)),
    meters(requirement),
    citations(requirement.annotations, "Nothing cites it yet."),
    citationBox(requirement),
    same.length === 0 ? null : element("section", {}, element("h3", {}, "In the same line"), element("ul.plain", {},
      ...same.map((other) => element("li", {}, element("a", { href: addressOfRequirement(other) }, mark(states[other.state]), " ", textOf(other)))))),
    element("p.muted.small.id", {}, "Label ", element("span", {}, requirement.label), " · ID ", element("code", {}, requirement.id)),
  ].filter(Boolean);
}

function meters(requirement) {
  const meter = (word, value) => {
    const fill = element("i");
    fill.style.width = `${value}%`;
    return element("div.meter", { role: "img", "aria-label": `${value} % ${word}` }, element("span", {}, word), element("span.track", {}, fill), element("span.value", {}, `${value} %`));
  };
  return element("div.meters", {}, meter("implemented", requirement.percent[0]), meter("tested", requirement.percent[1]));
}

function quoteDetail(annotation, all) {
  const section = current.section;
  return [
    element("div.bar-top", {}, element("span"), closeButton()),
    element("p.state.quoted", {}, mark(quoted), element("strong", {}, "cited, no requirement")),
    element("p.muted.small", {}, `${current.specification.name}, ${section.number ? `${section.number} ` : ""}${section.title}`),
    element("blockquote", {}, quoteOf(section, annotation)),
    citations(all.length > 0 ? all : [annotation], ""),
  ];
}

/** The text of a section that an annotation quotes. */
function quoteOf(section, annotation) {
  const lines = [section.titleLine, ...section.lines].filter((line) => typeof line !== "string");
  const isQuoted = (piece) => typeof piece !== "string" && piece[3].includes(annotation);
  const parts = lines.map((line) => line.filter(isQuoted).map((piece) => piece[0]).join(""));
  return parts.map((part) => part.trim()).filter((part) => part !== "").join(" ");
}

/** Lists annotations by type. */
function citations(numbers, otherwise) {
  const found = numbers.map((number) => data.annotations[number]);
  const groups = kinds.map((kind) => [kind, found.filter((annotation) => annotation.k === kind)]).filter(([, group]) => group.length > 0);
  if (groups.length === 0) return element("p.muted", {}, otherwise);
  return element("section.citations", {}, ...groups.map(([kind, group]) => element("div", {},
    element("h3", {}, kindWords[kind], " ", element("span.count", {}, String(group.length))),
    element("ul.plain", {}, ...group.map(citationRow)))));
}

function citationRow(annotation) {
  const name = `${data.files[annotation.f][0]}${annotation.l > 0 ? `:${annotation.l}` : ""}`;
  const row = element("li", {}, outside(breakable(name), fileAddress(annotation.f, annotation.l), ".file"));
  if (annotation.c) row.append(sourceLines(annotation));
  if (annotation.reason) row.append(element("p.reason", {}, annotation.reason));
  if (annotation.feature) row.append(element("p.small", {}, element("span.muted", {}, "feature "), annotation.feature));
  if (annotation.issue) row.append(element("p.small", {}, element("span.muted", {}, "issue "), outside(annotation.issue, issueAddress(annotation.issue))));
  if (annotation.tags) row.append(element("p.small", {}, ...annotation.tags.map((tag) => element("span.tag", {}, tag))));
  return row;
}

/** The lines of a citation in its file, and the code below. */
function sourceLines(annotation) {
  const lines = annotation.c.split("\n").map((line, index) => {
    const number = annotation.l + index;
    return element("span", {}, outside(String(number), fileAddress(annotation.f, number), ".number"), " ", line, "\n");
  });
  return element("pre.source", { tabindex: "0", "aria-label": "Source" }, ...lines);
}

/** A path that may be broken after its slashes. */
function breakable(path) {
  const made = document.createDocumentFragment();
  for (const part of path.split(/(?<=\/)/)) made.append(part, element("wbr"));
  return made;
}

/** What there is to know where no requirement is chosen. */
function overview(of) {
  const isSpecification = of.sections !== undefined;
  const title = isSpecification ? of.name : `${of.number ? `${of.number} ` : ""}${of.title}`;
  const n_all = of.requirements.length;
  const rows = states.map((state, index) => element("li", {}, mark(state), element("span", {}, state.name), element("span.value", {}, String(of.counts[index]))));
  const first = of.requirements.find((requirement) => requirement.state !== 0 && isMatching[requirement.index]);
  return [
    element("p.muted.small", {}, isSpecification ? "Specification" : "Section"),
    element("h2", {}, title),
    n_all === 0 ? element("p.muted", {}, "No requirements here.") : element("ul.overview", {}, ...rows),
    first ? element("p", {}, element("a", { href: addressOfRequirement(first) }, "Go to the first that is not done")) : null,
    element("p.muted.small", {}, "Choose underlined text, or press ", element("kbd", {}, "j"), " for the next requirement."),
  ].filter(Boolean);
}
