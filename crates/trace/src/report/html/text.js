// The middle: the text of one specification, with what is quoted underlined.
//
// A specification may have a hundred thousand lines. It is cut into chunks of some dozens, which have a guessed height
// until they come near the view.

const CHUNK_LINES = 60;
const LINE_HEIGHT_PX = { text: 21, markdown: 26 };
const MARKDOWN_COLUMNS = 84;
/** The room of one mark beside the text, and the distance of the next. */
const GUTTER_PX = 28;
const GUTTER_STEP_PX = 17;

const textPane = byId("text");
/** For each chunk element what it shows. */
const chunks = new Map();
/** For each piece of underlined text, and each mark beside it, what is said of it. */
const pieceOf = new WeakMap();

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) renderChunk(entry.target);
}, { root: textPane, rootMargin: "900px 0px" });

// Lines break elsewhere when the width changes.
let knownWidth = 0;
new ResizeObserver(() => {
  if (textPane.clientWidth === knownWidth) return;
  knownWidth = textPane.clientWidth;
  for (const [chunk, shown] of chunks) if (shown.isRendered) spreadMarks(chunk);
}).observe(textPane);

/** Shows a specification in place of the one before. */
function showSpecification(specification) {
  watcher.disconnect();
  chunks.clear();
  const source = webAddress(specification.target);
  const head = element("header.document", {},
    hasTitle(specification) ? null : element("h2", {}, specification.name),
    specification.about ? element("p.about", {}, specification.about) : null,
    element("p.muted", {}, outside(specification.target, source, ".file")),
    bar(specification.counts, ".wide"));
  textPane.replaceChildren(head, ...specification.sections.map(sectionElement));
  textPane.scrollTop = 0;
  // The first view is there at once; the rest as it comes near.
  let height = 0;
  for (const chunk of chunks.keys()) {
    if (height < textPane.clientHeight) {
      height += parseFloat(chunk.style.height);
      renderChunk(chunk);
    } else {
      watcher.observe(chunk);
    }
  }
}

/** Markdown mostly starts with its own title. */
const hasTitle = (specification) => specification.sections[0]?.title === specification.name;

function sectionElement(section) {
  const outer = hasTitle(section.specification) ? 1 : 2;
  const isWhole = outer === 1 && section.index === 0;
  const heading = element(`h${Math.min(6, outer + section.depth)}.depth-${isWhole ? 0 : Math.min(4, section.depth)}`, {},
    section.number ? element("span.number", {}, `${section.number} `) : null, ...lineNodes(section.titleLine, section, -1),
    " ", element("a.anchor", { href: addressOf(section.specification, section), "aria-label": `Link to ${section.title}` }, "#"));
  const made = element("section", {}, heading);
  section.element = made;
  for (let start = 0; start < section.lines.length; ) {
    const end = chunkEnd(section, start);
    const chunk = element(`div.chunk.${section.specification.is_markdown ? "markdown" : "plain"}`);
    chunk.style.height = `${guessHeight(section, start, end)}px`;
    chunks.set(chunk, { section, start, end, isRendered: false });
    made.append(chunk);
    start = end;
  }
  return made;
}

/** Chunks end at an empty line if one is near. */
function chunkEnd(section, start) {
  const latest = Math.min(section.lines.length, start + 2 * CHUNK_LINES);
  let isFenced = false;
  for (let end = start; end < latest; end += 1) {
    const line = plain(section.lines[end]);
    if (/^\s*(```|~~~)/.test(line)) isFenced = !isFenced;
    if (end - start >= CHUNK_LINES && !isFenced && line.trim() === "") return end + 1;
  }
  return latest;
}

function guessHeight(section, start, end) {
  if (!section.specification.is_markdown) return (end - start) * LINE_HEIGHT_PX.text;
  let n_rows = 0;
  for (let line = start; line < end; line += 1) n_rows += Math.max(1, Math.ceil(plain(section.lines[line]).length / MARKDOWN_COLUMNS));
  return n_rows * LINE_HEIGHT_PX.markdown;
}

function renderChunk(chunk) {
  const shown = chunks.get(chunk);
  if (shown === undefined || shown.isRendered) return;
  shown.isRendered = true;
  watcher.unobserve(chunk);
  const { section, start, end } = shown;
  if (section.specification.is_markdown) {
    chunk.append(...blocks(section, start, end).map((block) => blockElement(section, block)));
  } else {
    const pre = element("pre");
    for (let line = start; line < end; line += 1) pre.append(...lineNodes(section.lines[line], section, line), "\n");
    chunk.append(pre);
  }
  chunk.style.height = "";
  spreadMarks(chunk);
}

/** Puts marks of one row beside each other. */
function spreadMarks(chunk) {
  const rows = new Map();
  for (const made of chunk.querySelectorAll(".gutter")) {
    const top = made.offsetTop;
    if (rows.has(top)) rows.get(top).push(made);
    else rows.set(top, [made]);
  }
  // However many there are, they stay within the margin.
  const room = chunk.getBoundingClientRect().left - textPane.getBoundingClientRect().left - GUTTER_PX;
  for (const row of rows.values()) {
    const step = Math.min(GUTTER_STEP_PX, room / Math.max(1, row.length - 1));
    row.forEach((made, index) => made.style.setProperty("--offset", `${(row.length - 1 - index) * step}px`));
  }
}

/** Groups lines of Markdown into paragraphs, items of lists, and what has to keep its lines. */
function blocks(section, start, end) {
  const found = [];
  let fence = null;
  for (let line = start; line < end; line += 1) {
    const text = plain(section.lines[line]);
    const last = found.at(-1);
    if (fence !== null || /^\s*(```|~~~)/.test(text)) {
      if (fence === null) {
        fence = text.trim().slice(0, 3);
        found.push({ kind: "pre", lines: [line], indent: 0 });
      } else {
        last.lines.push(line);
        if (text.trim().startsWith(fence)) fence = null;
      }
    } else if (text.trim() === "") {
      found.push({ kind: "gap", lines: [], indent: 0 });
    } else if (/^\s*\|/.test(text) || (/^( {4}|\t)/.test(text) && last?.kind !== "p" && last?.kind !== "item")) {
      if (last?.kind === "pre") last.lines.push(line);
      else found.push({ kind: "pre", lines: [line], indent: 0 });
    } else if (/^\s*([-*+]|\d+[.)])\s/.test(text)) {
      found.push({ kind: "item", lines: [line], indent: Math.min(6, text.search(/\S/)) });
    } else if (last?.kind === "p" || last?.kind === "item") {
      last.lines.push(line);
    } else {
      found.push({ kind: "p", lines: [line], indent: Math.min(6, text.search(/\S/)) });
    }
  }
  return found.filter((block) => block.kind !== "gap");
}

function blockElement(section, block) {
  const made = element(block.kind === "pre" ? "pre" : "p", { class: block.kind });
  made.style.setProperty("--indent", block.indent);
  for (const line of block.lines) made.append(...lineNodes(section.lines[line], section, line), "\n");
  return made;
}

function lineNodes(line, section, number) {
  if (typeof line === "string") return [line];
  const nodes = [];
  const marked = new Set();
  for (const piece of line) {
    if (typeof piece === "string") {
      nodes.push(piece);
      continue;
    }
    const [text, state, own, annotations] = piece;
    const all = own.map((index) => section.specification.requirements[index]);
    for (const requirement of all) {
      if (requirement.line === number && !marked.has(requirement)) nodes.push(gutterMark(requirement));
      marked.add(requirement);
    }
    for (const kind of notableKinds) {
      const first = annotations.find((index) => data.annotations[index].k === kind && section.firstPiece.get(index) === piece);
      if (first !== undefined) nodes.push(badge(kind, data.annotations[first]));
    }
    const made = element(`span.piece.${stateOf(state).key}`, {}, text);
    pieceOf.set(made, { requirements: all, annotations, section });
    refreshPiece(made);
    nodes.push(made);
  }
  return nodes;
}

/** What the underline does not tell. */
const notableKinds = ["exception", "todo"];

/** Says in the text that something is left out or not done yet. */
const badge = (kind, annotation) =>
  element(`span.badge.${kind}`, { title: [annotation.reason, annotation.issue].filter(Boolean).join(" · ") || null }, kind);

/** A link beside the line where a requirement starts. */
function gutterMark(requirement) {
  const state = states[requirement.state];
  const made = element("a.gutter", {
    href: addressOfRequirement(requirement),
    title: `${requirement.level}: ${state.name}`,
    "aria-label": `${requirement.level} requirement, ${state.name}`,
  }, mark(state));
  pieceOf.set(made, { requirements: [requirement], annotations: [] });
  refreshPiece(made);
  return made;
}

function isSelected(all, annotations) {
  if (current.requirement) return all.includes(current.requirement);
  return current.annotation !== null && annotations.includes(current.annotation);
}

/** Brings the classes of underlined text up to date. */
function refreshPieces() {
  for (const made of textPane.querySelectorAll(".piece, .gutter")) refreshPiece(made);
}

function refreshPiece(made) {
  const { requirements: all, annotations } = pieceOf.get(made);
  made.classList.toggle("selected", isSelected(all, annotations));
  made.classList.toggle("faint", all.length > 0 && all.every((requirement) => !isMatching[requirement.index]));
}

/** Scrolls to a line of a section; -1 is its title. */
function revealLine(section, line, find) {
  for (const [chunk, shown] of chunks) {
    if (shown.section === section && line >= shown.start && line < shown.end) renderChunk(chunk);
  }
  const place = () => {
    const target = (find && section.element.querySelector(find)) || section.element;
    const offset = target.getBoundingClientRect().top - textPane.getBoundingClientRect().top;
    // On a narrow screen the detail covers the lower part.
    const covered = getComputedStyle(detailPane).position === "absolute" ? detailPane.offsetHeight : 0;
    const height = textPane.clientHeight - covered;
    const margin = target === section.element ? 12 : height * 0.3;
    const isNear = find && offset > 40 && offset < height - 120;
    if (!isNear) textPane.scrollTop += offset - margin;
  };
  place();
  // What is above may have been higher or lower than guessed.
  requestAnimationFrame(() => requestAnimationFrame(place));
}

/** Tells the section at the top of the view. */
function sectionInView() {
  const { sections } = current.specification;
  const top = textPane.getBoundingClientRect().top + 80;
  let [low, high] = [0, sections.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sections[middle].element.getBoundingClientRect().top <= top) low = middle + 1;
    else high = middle;
  }
  return sections[low - 1] ?? null;
}
