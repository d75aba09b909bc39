//! Users' Markdown as safe HTML. Raw HTML is shown as text, images become links, and the result goes through a sanitizer
//! that allows no scripts, styles or attributes of ours.

use std::borrow::Cow;
use std::sync::LazyLock;

use ammonia::UrlRelative;
use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// How Markdown is rendered in a place.
#[derive(Clone, Copy)]
pub struct Markdown<'a> {
    /// The link of a word, if it is a reference id.
    pub link: &'a dyn Fn(&str) -> Option<String>,
    /// The level of the heading above the text: headings of the text are deeper. Zero leaves them unchanged.
    pub below: u8,
    /// Where the text is shown.
    pub surroundings: Surroundings,
}

/// Where a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// A page of a server, where paths lead to other pages of it.
    Page,
    /// A file by itself, where a link leads to its own sections or to the web.
    File,
}

impl Markdown<'_> {
    /// Renders a text.
    pub fn render(&self, text: &str) -> Markup {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut depth = 0;
        let events = Parser::new_ext(text, options).flat_map(|event| {
            match &event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_)) => depth += 1,
                Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => depth -= 1,
                _ => {}
            }
            self.plain(event, depth == 0)
        });
        let mut written = String::new();
        html::push_html(&mut written, events);
        let sanitizer = match self.surroundings {
            Surroundings::Page => &*IN_PAGE,
            Surroundings::File => &*IN_FILE,
        };
        PreEscaped(sanitizer.clean(&written).to_string())
    }

    /// An event without active content, and with references as links.
    fn plain<'e>(&self, event: Event<'e>, links_references: bool) -> Vec<Event<'e>> {
        match event {
            Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
            Event::Start(Tag::Image { dest_url, .. }) => {
                vec![link_to(dest_url), Event::Text(CowStr::Borrowed("🖼 "))]
            }
            Event::End(TagEnd::Image) => vec![Event::End(TagEnd::Link)],
            Event::Start(Tag::Heading { level, .. }) => {
                let level = self.deeper(level);
                vec![Event::Start(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() })]
            }
            Event::End(TagEnd::Heading(level)) => vec![Event::End(TagEnd::Heading(self.deeper(level)))],
            Event::Text(text) if links_references => self.linked(&text),
            other => vec![other],
        }
    }

    fn deeper(&self, level: HeadingLevel) -> HeadingLevel {
        let wanted = level as usize + usize::from(self.below);
        HeadingLevel::try_from(wanted).unwrap_or(HeadingLevel::H6)
    }

    /// A text in which reference ids are links.
    fn linked(&self, text: &str) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        let mut rest = text;
        let own = |text: &str| Event::Text(CowStr::from(text.to_owned()));
        while let Some((start, end, address)) = self.reference(rest) {
            if start > 0 {
                events.push(own(&rest[..start]));
            }
            events.push(link_to(CowStr::from(address)));
            events.push(own(&rest[start..end]));
            events.push(Event::End(TagEnd::Link));
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            events.push(own(rest));
        }
        events
    }

    /// The first reference id of a text, as its start, end and link: `REQ-027`, `SHOP-REQ-027`.
    fn reference(&self, text: &str) -> Option<(usize, usize, String)> {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
        let mut start = 0;
        while start < text.len() {
            let word_start = start + text[start..].find(|character: char| character.is_ascii_uppercase())?;
            let word = &text[word_start..];
            let end = word_start + word.find(|character| !is_part(character)).unwrap_or(word.len());
            let is_whole = !text[..word_start].ends_with(is_part);
            // The last character of a reference id is a digit, with which few words end.
            let may_be = is_whole && text[..end].ends_with(|last: char| last.is_ascii_digit());
            if let Some(address) = may_be.then(|| (self.link)(&text[word_start..end])).flatten() {
                return Some((word_start, end, address));
            }
            start = end;
        }
        None
    }
}

fn link_to(dest_url: CowStr<'_>) -> Event<'_> {
    Event::Start(Tag::Link {
        link_type: pulldown_cmark::LinkType::Inline,
        dest_url,
        title: CowStr::Borrowed(""),
        id: CowStr::Borrowed(""),
    })
}

static IN_PAGE: LazyLock<ammonia::Builder<'static>> = LazyLock::new(sanitizer);

static IN_FILE: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut builder = sanitizer();
    builder.url_relative(UrlRelative::Custom(Box::new(own_section)));
    builder
});

fn own_section(address: &str) -> Option<Cow<'_, str>> {
    address.starts_with('#').then_some(Cow::Borrowed(address))
}

fn sanitizer() -> ammonia::Builder<'static> {
    let mut builder = ammonia::Builder::default();
    builder
        .tags(
            [
                "a",
                "blockquote",
                "br",
                "code",
                "del",
                "em",
                "h1",
                "h2",
                "h3",
                "h4",
                "h5",
                "h6",
                "hr",
                "input",
                "li",
                "ol",
                "p",
                "pre",
                "strong",
                "table",
                "tbody",
                "td",
                "th",
                "thead",
                "tr",
                "ul",
            ]
            .into(),
        )
        .generic_attributes([].into())
        .tag_attributes(
            [
                ("a", ["href"].into()),
                ("code", ["class"].into()),
                ("input", ["type", "checked", "disabled"].into()),
                ("ol", ["start"].into()),
            ]
            .into(),
        )
        .url_schemes(["http", "https", "mailto"].into())
        .link_rel(Some("noopener nofollow"));
    builder
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn link(word: &str) -> Option<String> {
        word.starts_with("REQ-").then(|| format!("/r/{word}"))
    }

    const PAGE: Markdown<'static> = Markdown { link: &link, below: 0, surroundings: Surroundings::Page };

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(PAGE.render(text).into_string().trim_end(), expected);
    }

    #[test]
    fn headings_go_below_what_they_stand_in() {
        let deeper = Markdown { below: 4, ..PAGE };
        assert_eq!(deeper.render("# a").into_string(), "<h5>a</h5>\n");
        assert_eq!(deeper.render("### a").into_string(), "<h6>a</h6>\n");
    }

    #[test]
    fn a_file_leads_to_itself_and_the_web_alone() {
        let file = Markdown { surroundings: Surroundings::File, ..PAGE };
        for (text, expected) in [
            ("[a](#REQ-001)", "<p><a href=\"#REQ-001\" rel=\"noopener nofollow\">a</a></p>\n"),
            ("[a](//x.org)", "<p><a rel=\"noopener nofollow\">a</a></p>\n"),
            ("[a](b.html)", "<p><a rel=\"noopener nofollow\">a</a></p>\n"),
            ("[a](file:///etc/passwd)", "<p><a rel=\"noopener nofollow\">a</a></p>\n"),
            (
                "<https://x.org>",
                "<p><a href=\"https://x.org\" rel=\"noopener nofollow\">https://x.org</a></p>\n",
            ),
        ] {
            assert_eq!(file.render(text).into_string(), expected, "{text}");
        }
    }

    #[test]
    fn markdown_is_rendered() {
        check("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>");
        check(
            "- [x] done",
            "<ul>\n<li><input disabled=\"\" type=\"checkbox\" checked=\"\">\ndone</li>\n</ul>",
        );
        check("```rust\nfn\n```", "<pre><code class=\"language-rust\">fn\n</code></pre>");
    }

    #[test]
    fn references_are_links() {
        check(
            "see REQ-027, not XREQ-1x",
            "<p>see <a href=\"/r/REQ-027\" rel=\"noopener nofollow\">REQ-027</a>, not XREQ-1x</p>",
        );
        check("`REQ-027`", "<p><code>REQ-027</code></p>");
        check(
            "[REQ-1](https://x.org/)",
            "<p><a href=\"https://x.org/\" rel=\"noopener nofollow\">REQ-1</a></p>",
        );
    }

    #[test]
    fn active_content_is_shown_as_text_or_removed() {
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("[x](javascript:alert(1))", "<p><a rel=\"noopener nofollow\">x</a></p>");
        check(
            "![y](https://x.org/y.png)",
            "<p><a href=\"https://x.org/y.png\" rel=\"noopener nofollow\">🖼 y</a></p>",
        );
    }

    proptest! {
        #[test]
        fn no_text_produces_active_content(text in "(<|>|\\(|\\)|\\[|\\]|!|`|\\*|_|#|-|\n| |a|on|=|\"|'|javascript:|data:|script|style|hx-get|img|src|href|&|;|\\|){0,60}") {
            let html = PAGE.render(&text).into_string();
            for bad in ["<script", "<style", "<img", "<iframe", " on", " hx-", " style=", " data-", "href=\"javascript:", "href=\"data:"] {
                // Within text every character that could open a tag is escaped, so these occur in tags only.
                for tag in html.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
                    let tag = format!("<{}", tag.to_lowercase());
                    prop_assert!(!tag.contains(bad), "{text:?} gives {html}");
                }
            }
        }
    }
}
