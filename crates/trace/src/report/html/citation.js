// A citation ready to be pasted into code.

const kinds = ["implementation", "test", "implication", "exception", "todo"];
const kindWords = {
  implementation: "Implementation", test: "Test", implication: "Implication", exception: "Exception", todo: "To do",
};

/** What the reader chose last, for all requirements. */
const choice = { style: 0, kind: "implementation" };

function citationText(requirement) {
  const style = data.styles[choice.style];
  const section = sectionOf(requirement);
  const meta = [`${requirement.specification.target}#${section.id}`];
  if (choice.kind !== style.kind) meta.push(`type=${choice.kind}`);
  if (choice.kind === "exception") meta.push("reason=why it is left out");
  const content = requirement.lines.map((line) => line.trim()).filter((line) => line !== "");
  return [...meta.map((line) => `${style.meta} ${line}`), ...content.map((line) => `${style.content} ${line}`)].join("\n") + "\n";
}

function citationBox(requirement) {
  const preview = element("pre.preview");
  const show = () => preview.replaceChildren(...citationText(requirement).trimEnd().split("\n").map((line) => element("span", {}, line, "\n")));
  const kindSelect = select("As", kinds.map((kind) => [kind, kindWords[kind]]), choice.kind, (value) => {
    choice.kind = value;
    show();
  });
  const names = data.styles.map((style, index) => [String(index), styleName(style)]);
  const styleSelect = names.length < 2 ? null : select("in", names, String(choice.style), (value) => {
    choice.style = Number(value);
    show();
  });
  show();
  const button = element("button.copy", { type: "button", onclick: () => copyCitation(requirement) }, "Copy ", element("kbd", {}, "c"));
  return element("section.citation", {}, element("h3", {}, "Cite it"),
    element("div.choices", {}, kindSelect, button, styleSelect), preview);
}

const styleName = (style) => [`${style.meta} ${style.content}`, style.patterns.join(", ")].filter((part) => part !== "").join("  ·  ");

function select(label, options, value, onChoice) {
  const made = element("select", { "aria-label": label, onchange: (event) => onChoice(event.target.value) });
  made.append(...options.map(([key, text]) => element("option", { value: key, selected: key === value ? "" : null }, text)));
  return made;
}

async function copyCitation(requirement) {
  const text = citationText(requirement);
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not allowed where the page is not served safely; the old way still is.
    const area = element("textarea.offscreen", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) return announce("The browser does not allow copying; select the text instead", true);
  }
  announce("Copied", true);
}
