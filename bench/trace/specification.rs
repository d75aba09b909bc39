//! Specifications to trace: texts laid out as RFCs are, and Markdown.

use crate::sentence::{Random, Sentence, title, wrap};

const WIDTH: usize = 72;
const INDENT: &str = "   ";
/// Lines of text on a page, between its header and its footer.
const PAGE_LINES: usize = 50;

pub struct Specification {
    /// What citations name: a URL, or a path within the project.
    pub target: String,
    pub text: String,
    pub sections: Vec<Section>,
}

pub struct Section {
    pub id: String,
    pub sentences: Vec<Sentence>,
}

/// Writes a document of about 60 kB with front matter, contents, chapters up to `n.n.n`, references and appendices.
pub fn rfc(random: &mut Random, number: usize, requirements_percent: usize) -> Specification {
    let name = format!("The {} Protocol", title(random));
    let mut body = Body { requirements_percent, ..Body::default() };
    let n_chapters = random.between(7, 10);
    for chapter in 1..=n_chapters {
        let name = match n_chapters - chapter {
            0 => "IANA Considerations".to_owned(),
            1 => "Security Considerations".to_owned(),
            _ if chapter == 1 => "Introduction".to_owned(),
            _ => title(random),
        };
        body.titled_section(random, &chapter.to_string(), &name, 1);
        for part in 1..=random.below(5) {
            body.section(random, &format!("{chapter}.{part}"), 2);
            for detail in 1..=random.below(4) {
                body.section(random, &format!("{chapter}.{part}.{detail}"), 3);
            }
        }
    }
    body.references(random, n_chapters + 1);
    for (letter, n_parts) in [("A", 3), ("B", 0)] {
        body.section(random, letter, 1);
        for part in 1..=n_parts {
            body.section(random, &format!("{letter}.{part}"), 2);
        }
    }
    body.lines.extend(["Acknowledgments", "", "   Many read this and said so.", ""].map(String::from));
    body.lines
        .extend(["Author's Address", "", "   A. Writer", "   Email: writer@example.org"].map(String::from));

    let mut lines = front(random, number, &name);
    // The first line of the body, once the contents stand before it: two lines around their entries.
    let start = lines.len() + 3 + body.headings.len();
    lines.extend(["Table of Contents".to_owned(), String::new()]);
    lines.extend(body.headings.iter().map(|heading| heading.entry((start + heading.line) / PAGE_LINES + 1)));
    lines.push(String::new());
    lines.extend(body.lines);
    Specification {
        target: format!("https://www.rfc-editor.org/rfc/rfc{number}"),
        text: paginate(&lines, number, &name),
        sections: body.sections,
    }
}

/// Writes one long document with numbered headings, lists, code and tables, until it has so many requirements.
pub fn markdown(random: &mut Random, path: &str, n_requirements: usize) -> Specification {
    let mut text = "# The Whole Product\n\nWhat it does, and what it must not do.\n\n".to_owned();
    let mut sections = Vec::new();
    let mut n_written = 0;
    let mut chapter = 0;
    while n_written < n_requirements {
        chapter += 1;
        for part in 0..=random.between(2, 5) {
            let number = if part == 0 { chapter.to_string() } else { format!("{chapter}.{part}") };
            let heading = format!("{number} {}", title(random));
            text += &format!("{} {heading}\n\n", if part == 0 { "##" } else { "###" });
            let mut sentences = Vec::new();
            for _ in 0..random.between(2, 4) {
                let is_list = random.percent(40);
                let mut paragraph: Vec<Sentence> =
                    (0..random.between(3, 6)).map(|_| Sentence::new(random, 60)).collect();
                // So that the document has exactly the number asked for.
                for sentence in &mut paragraph {
                    if sentence.is_requirement && n_written == n_requirements {
                        *sentence = Sentence::new(random, 0);
                    }
                    n_written += usize::from(sentence.is_requirement);
                }
                let texts: Vec<&str> = paragraph.iter().map(|sentence| sentence.text.as_str()).collect();
                let lines: Vec<String> = match is_list {
                    // With a blank line between items, each sentence stands by itself.
                    true => texts.iter().flat_map(|text| loose_item(text)).collect(),
                    false => wrap(&texts, "", "", 100),
                };
                text += &lines.join("\n");
                text += "\n\n";
                sentences.extend(paragraph);
            }
            match random.below(6) {
                0 => text += "```\nopen -> ready -> closed\n```\n\n",
                1 => text += "| state | next |\n|---|---|\n| open | ready |\n| ready | closed |\n\n",
                _ => {}
            }
            sections.push(Section { id: slug(&heading), sentences });
        }
    }
    Specification { target: path.to_owned(), text, sections }
}

fn loose_item(text: &str) -> Vec<String> {
    let mut lines = wrap(&[text], "- ", "  ", 100);
    lines.push(String::new());
    lines
}

fn slug(heading: &str) -> String {
    heading.to_lowercase().replace(['.', ' '], "-")
}

#[derive(Default)]
struct Body {
    requirements_percent: usize,
    lines: Vec<String>,
    headings: Vec<Heading>,
    sections: Vec<Section>,
}

impl Body {
    /// Writes a section. Its number starts with a letter in appendices.
    fn section(&mut self, random: &mut Random, number: &str, depth: usize) {
        let title = title(random);
        self.titled_section(random, number, &title, depth);
    }

    fn titled_section(&mut self, random: &mut Random, number: &str, title: &str, depth: usize) {
        let id = self.heading(number, title, depth);
        if number == "1" {
            let keywords = "The key words \"MUST\", \"MUST NOT\", \"REQUIRED\", \"SHALL\", \"SHALL NOT\", \"SHOULD\", \
                            \"SHOULD NOT\", \"RECOMMENDED\", \"MAY\", and \"OPTIONAL\" are to be read as in [RFC2119].";
            self.lines.extend(wrap(&[keywords], INDENT, INDENT, WIDTH));
            self.lines.push(String::new());
        }
        let mut sentences = Vec::new();
        for _ in 0..random.between(1, 3) {
            let percent = self.requirements_percent;
            let n_sentences = random.between(2, 5);
            let paragraph: Vec<Sentence> = (0..n_sentences).map(|_| Sentence::new(random, percent)).collect();
            if random.percent(15) {
                for sentence in &paragraph {
                    self.lines.extend(wrap(&[&sentence.text], "   *  ", "      ", WIDTH));
                    self.lines.push(String::new());
                }
            } else {
                let texts: Vec<&str> = paragraph.iter().map(|sentence| sentence.text.as_str()).collect();
                self.lines.extend(wrap(&texts, INDENT, INDENT, WIDTH));
                self.lines.push(String::new());
            }
            sentences.extend(paragraph);
        }
        if random.percent(10) {
            self.figure(random);
        }
        self.sections.push(Section { id, sentences });
    }

    fn heading(&mut self, number: &str, title: &str, depth: usize) -> String {
        let (id, label) = match number.as_bytes() {
            [b'A'..=b'Z'] => (format!("appendix-{number}"), format!("Appendix {number}.  {title}")),
            [b'A'..=b'Z', ..] => (format!("appendix-{number}"), format!("{number}.  {title}")),
            _ => (format!("section-{number}"), format!("{number}.  {title}")),
        };
        self.headings.push(Heading { line: self.lines.len(), depth, label: label.clone() });
        self.lines.extend([label, String::new()]);
        id
    }

    /// Draws a packet.
    fn figure(&mut self, random: &mut Random) {
        let rule = format!("    +{}", "-+".repeat(32));
        self.lines.push(rule.clone());
        for _ in 0..random.between(1, 3) {
            self.lines.extend([format!("    |{:^63}|", title(random)), rule.clone()]);
        }
        self.lines.push(String::new());
    }

    fn references(&mut self, random: &mut Random, chapter: usize) {
        self.heading(&chapter.to_string(), "References", 1);
        for (part, kind) in [(1, "Normative References"), (2, "Informative References")] {
            self.heading(&format!("{chapter}.{part}"), kind, 2);
            for _ in 0..random.between(3, 8) {
                let number = random.between(10_001, 10_800);
                let entry = format!(
                    "[RFC{number}] Writer, A. and B. Reader, \"The {} Protocol\", RFC {number}, May 2019, \
                     <https://www.rfc-editor.org/info/rfc{number}>.",
                    title(random)
                );
                self.lines.extend(wrap(&[&entry], INDENT, "              ", WIDTH));
                self.lines.push(String::new());
            }
        }
    }
}

struct Heading {
    line: usize,
    depth: usize,
    label: String,
}

impl Heading {
    /// Returns its line in the table of contents.
    fn entry(&self, page: usize) -> String {
        let mut entry = format!("{}{} ", " ".repeat(1 + 2 * self.depth), self.label);
        while entry.len() < WIDTH - 6 {
            entry += if entry.len() % 2 == 0 { " " } else { "." };
        }
        format!("{entry:<66}{page:>6}")
    }
}

fn front(random: &mut Random, number: usize, name: &str) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!("{:<36}{:>36}", "Example Working Group", "A. Writer"),
        format!("{:<36}{:>36}", format!("Request for Comments: {number}"), "Example Organization"),
        format!("{:<36}{:>36}", "Category: Standards Track", "May 2019"),
        String::new(),
        format!("{name:^WIDTH$}").trim_end().to_owned(),
        String::new(),
    ];
    for (heading, n_sentences) in [("Abstract", 3), ("Status of This Memo", 2), ("Copyright Notice", 1)] {
        lines.extend([heading.to_owned(), String::new()]);
        let sentences: Vec<Sentence> = (0..n_sentences).map(|_| Sentence::new(random, 0)).collect();
        let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
        lines.extend(wrap(&texts, INDENT, INDENT, WIDTH));
        lines.push(String::new());
    }
    lines
}

fn paginate(lines: &[String], number: usize, name: &str) -> String {
    let mut text = String::new();
    for (index, page) in lines.chunks(PAGE_LINES).enumerate() {
        if index > 0 {
            let header = format!("{:<12}{name:^46}{:>14}", format!("RFC {number}"), "May 2019");
            text += &format!("\u{c}\n{header}\n\n\n");
        }
        for line in page {
            text += line;
            text += "\n";
        }
        text += &"\n".repeat(PAGE_LINES - page.len() + 2);
        text +=
            &format!("{:<24}{:^24}{:>24}\n", "Writer", "Standards Track", format!("[Page {}]", index + 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_writes_the_same_text() {
        let text = |seed| rfc(&mut Random::new(seed), 10_001, 11).text;
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn lines_of_an_rfc_fit_its_page() {
        let text = rfc(&mut Random::new(1), 10_001, 11).text;
        let longest = text.lines().max_by_key(|line| line.len()).unwrap_or_default();
        assert!(longest.len() <= WIDTH, "{} columns: {longest}", longest.len());
    }

    #[test]
    fn markdown_has_as_many_requirements_as_asked_for() {
        let sections = markdown(&mut Random::new(1), "a.md", 100).sections;
        let sentences = sections.iter().flat_map(|section| &section.sentences);
        assert_eq!(sentences.filter(|sentence| sentence.is_requirement).count(), 100);
    }
}
