// Makes elements. Text only ever becomes text nodes, so nothing that a specification says can act.

/** Makes an element: `element("a.row", {href}, "text", child)`. */
function element(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const made = document.createElement(tag);
  if (classes.length > 0) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

/** Text for screen readers alone. */
const hidden = (text) => element("span.hidden", {}, text);

/** Returns an address if it is one of the web; anything else is no link. */
function webAddress(text) {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    return new URL(text).href;
  } catch {
    return null;
  }
}

/** A link that opens beside the page, or plain text where there is no address. */
function outside(text, address, className = "") {
  const selector = (address ? "a" : "span") + className;
  return element(selector, address ? { href: address, target: "_blank", rel: "noopener noreferrer" } : {}, text);
}

/** Says something to screen readers, and shows it for a moment. */
function announce(text, isShown = false) {
  byId("announcer").textContent = text;
  if (!isShown) return;
  const toast = byId("toast");
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => toast.classList.remove("shown"), 1600);
}

/** The mark of a state: a disc that fills up. */
const mark = (state) => element(`i.mark.${state.key}`, { "aria-hidden": "true" });

const levelBadge = (level) =>
  element(`span.level.${level.toLowerCase()}`, {}, level === "AUTO" ? "unspecified" : level);

/** A bar with a part for each state, sized by its count. */
function bar(counts, className = "") {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const words = states.map((state, index) => `${counts[index]} ${state.name}`).join(", ");
  const made = element(`span.bar${className}`, { role: "img", "aria-label": words, title: words });
  states.forEach((state, index) => {
    if (counts[index] === 0) return;
    const part = element(`i.${state.key}`);
    part.style.flexGrow = counts[index];
    made.append(part);
  });
  if (total === 0) made.classList.add("empty");
  return made;
}
