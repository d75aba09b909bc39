// The data, and what can be asked of it.

const data = JSON.parse(document.getElementById("data").textContent);

/** In the order of the data, which names them by number. The last is text that belongs to no requirement. */
const states = [
  { key: "done", name: "done", about: "implemented and tested in full, implied, or left out for a reason" },
  { key: "needs-tests", name: "needs tests", about: "implemented in full, not tested in full" },
  { key: "in-progress", name: "in progress", about: "some of it is implemented or tested" },
  { key: "not-started", name: "not started", about: "nothing cites it, or only a todo" },
];
const quoted = { key: "quoted", name: "cited", about: "quoted by code, but no requirement" };
const stateOf = (number) => states[number] ?? quoted;

const levels = ["MUST", "SHOULD", "MAY", "AUTO"];

/** All requirements, in the order of specifications and their text. */
const requirements = [];

const specifications = data.specifications.map((specification, index) => {
  const own = specification.requirements.map((requirement) => ({
    specification: null,
    section: requirement.s,
    id: requirement.id,
    level: requirement.l,
    state: requirement.t,
    label: requirement.d,
    percent: requirement.p,
    annotations: requirement.a ?? [],
    /** Its text, line by line, and the line of the section where it starts; -1 is the title. */
    lines: [],
    line: null,
    words: null,
  }));
  const sections = specification.sections.map((section, number) => readSection(specification, section, number, own));
  const made = { ...specification, index, requirements: own, sections, counts: countStates(own) };
  const seen = new Map();
  for (const requirement of own) {
    requirement.specification = made;
    const section = sections[requirement.section];
    // The same sentence may stand in a section twice.
    const key = `${requirement.section}/${requirement.id}`;
    const n = (seen.get(key) ?? 0) + 1;
    seen.set(key, n);
    if (n > 1) requirement.id += `.${n}`;
    section.requirements.push(requirement);
    requirement.index = requirements.length;
    requirements.push(requirement);
  }
  for (const section of sections) {
    section.specification = made;
    section.counts = countStates(section.requirements);
  }
  return made;
});

function readSection(specification, section, index, own) {
  /** For each annotation the first piece that it quotes. */
  const firstPiece = new Map();
  const collect = (line, number) => {
    if (typeof line === "string") return;
    const touched = new Set();
    for (const piece of line) {
      if (typeof piece === "string") continue;
      for (const annotation of piece[3]) if (!firstPiece.has(annotation)) firstPiece.set(annotation, piece);
      for (const requirement of piece[2]) {
        const found = own[requirement];
        found.line ??= number;
        if (touched.has(requirement)) found.lines[found.lines.length - 1] += piece[0];
        else found.lines.push(piece[0]);
        touched.add(requirement);
      }
    }
  };
  collect(section.title, -1);
  section.lines.forEach(collect);
  const title = plain(section.title).replace(/\s+/g, " ");
  const number = specification.is_markdown ? "" : sectionNumber(section.id);
  const isQuoted = (line) => typeof line !== "string";
  return {
    id: section.id, index, depth: section.depth, number, title, titleLine: section.title, lines: section.lines,
    requirements: [], firstPiece, isCited: isQuoted(section.title) || section.lines.some(isQuoted),
  };
}

/** `section-2.1` is 2.1, `appendix-A` is A, and a name has no number. */
function sectionNumber(id) {
  const found = /^(?:section|appendix)-(.+)$/.exec(id);
  return found ? found[1] : "";
}

function plain(line) {
  return typeof line === "string" ? line : line.map((piece) => (typeof piece === "string" ? piece : piece[0])).join("");
}

function countStates(of) {
  const counts = [0, 0, 0, 0];
  for (const requirement of of) counts[requirement.state] += 1;
  return counts;
}

/** What is shown of all requirements. Nothing chosen means everything. */
const filter = { states: new Set(), levels: new Set(), words: [] };
const isFiltered = () => filter.states.size + filter.levels.size + filter.words.length > 0;

/** Those that the filter lets through, and for each requirement whether it does. */
let matching = requirements;
let isMatching = new Uint8Array(requirements.length).fill(1);

function applyFilter() {
  isMatching = new Uint8Array(requirements.length);
  matching = requirements.filter((requirement) => {
    const fits =
      (filter.states.size === 0 || filter.states.has(requirement.state)) &&
      (filter.levels.size === 0 || filter.levels.has(requirement.level)) &&
      filter.words.every((word) => searchable(requirement).includes(word) || isIdentifier(word, requirement));
    isMatching[requirement.index] = fits ? 1 : 0;
    return fits;
  });
}

/** Everything that a search looks at, in lower case. Made when it is first needed. */
function searchable(requirement) {
  if (requirement.words === null) {
    const section = sectionOf(requirement);
    const files = requirement.annotations.map((number) => data.files[data.annotations[number].f][0]);
    const parts = [requirement.lines.map((line) => line.trim()).join(" "), section.id, section.title,
      requirement.specification.id, requirement.specification.name, ...new Set(files)];
    requirement.words = parts.join("\n").toLowerCase().replace(/[^\S\n]+/g, " ");
  }
  return requirement.words;
}

/** An identifier is known by its first digits; shorter ones are just numbers. */
const isIdentifier = (word, requirement) => word.length >= 8 && requirement.id.startsWith(word.slice(0, 8));

const sectionOf = (requirement) => requirement.specification.sections[requirement.section];
const textOf = (requirement) => requirement.lines.map((line) => line.trim()).join(" ");

/** Words, and phrases in quotation marks. */
function readWords(text) {
  const found = text.toLowerCase().matchAll(/"([^"]+)"|(\S+)/g);
  return [...found].map((match) => (match[1] ?? match[2]).replace(/\s+/g, " ")).filter((word) => word !== '"');
}

/** Addresses within the page: `#specification/section/requirement`. */
function addressOf(specification, section = null, last = null) {
  const parts = [specification.id, section?.id, last].filter((part) => part !== null && part !== undefined);
  return "#" + parts.map(encodeURIComponent).join("/");
}
const addressOfRequirement = (requirement) =>
  addressOf(requirement.specification, sectionOf(requirement), requirement.id);

/** Where a file can be looked at. */
function fileAddress(file, line) {
  const [path, own] = data.files[file];
  const base = (own ?? data.blob_link ?? "").replace(/\/+$/, "");
  return base ? webAddress(`${base}/${path.split("/").map(encodeURIComponent).join("/")}${line > 0 ? `#L${line}` : ""}`) : null;
}

function issueAddress(issue) {
  const base = (data.issue_link ?? "").replace(/\/+$/, "");
  return webAddress(issue) ?? (base ? webAddress(`${base}/${encodeURIComponent(issue)}`) : null);
}
