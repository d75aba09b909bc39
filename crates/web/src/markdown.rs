//! What people wrote, as HTML that can do nothing. Raw HTML stays text, images become links, and what is left goes through a sanitizer
//! that knows no scripts, styles or attributes of ours.

use std::sync::LazyLock;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use store::model::Reference;

/// Renders Markdown.
pub fn render(text: &str) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut depth = 0;
    let events = Parser::new_ext(text, options).flat_map(|event| {
        match &event {
            Event::Start(Tag::Link { .. } | Tag::CodeBlock(_)) => depth += 1,
            Event::End(TagEnd::Link | TagEnd::CodeBlock) => depth -= 1,
            _ => {}
        }
        plain(event, depth == 0)
    });
    let mut written = String::new();
    html::push_html(&mut written, events);
    PreEscaped(SANITIZER.clean(&written).to_string())
}

/// An event without what could do something, and with references as links.
fn plain(event: Event<'_>, links_references: bool) -> Vec<Event<'_>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
        Event::Start(Tag::Image { dest_url, .. }) => vec![
            Event::Start(Tag::Link {
                link_type: pulldown_cmark::LinkType::Inline,
                dest_url,
                title: CowStr::Borrowed(""),
                id: CowStr::Borrowed(""),
            }),
            Event::Text(CowStr::Borrowed("🖼 ")),
        ],
        Event::End(TagEnd::Image) => vec![Event::End(TagEnd::Link)],
        Event::Text(text) if links_references => linked(&text),
        other => vec![other],
    }
}

/// A text in which reference ids are links.
fn linked(text: &str) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut rest = text;
    let own = |text: &str| Event::Text(CowStr::from(text.to_owned()));
    while let Some((start, end)) = reference(rest) {
        if start > 0 {
            events.push(own(&rest[..start]));
        }
        let id = &rest[start..end];
        events.push(Event::Start(Tag::Link {
            link_type: pulldown_cmark::LinkType::Inline,
            dest_url: CowStr::from(format!("/r/{id}")),
            title: CowStr::Borrowed(""),
            id: CowStr::Borrowed(""),
        }));
        events.push(own(id));
        events.push(Event::End(TagEnd::Link));
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        events.push(own(rest));
    }
    events
}

/// Where the first reference id of a text is: `REQ-027`, `SHOP-REQ-027`.
fn reference(text: &str) -> Option<(usize, usize)> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let mut start = 0;
    while start < text.len() {
        let word_start = start + text[start..].find(|character: char| character.is_ascii_uppercase())?;
        let word = &text[word_start..];
        let end = word_start + word.find(|character| !is_part(character)).unwrap_or(word.len());
        let is_whole = !text[..word_start].ends_with(is_part);
        if is_whole && matches!(Reference::parse(&text[word_start..end]), Some(Reference::Numbered { .. })) {
            return Some((word_start, end));
        }
        start = end;
    }
    None
}

static SANITIZER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
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
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(render(text).into_string().trim_end(), expected);
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
    fn what_could_do_something_is_text_or_gone() {
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("[x](javascript:alert(1))", "<p><a rel=\"noopener nofollow\">x</a></p>");
        check(
            "![y](https://x.org/y.png)",
            "<p><a href=\"https://x.org/y.png\" rel=\"noopener nofollow\">🖼 y</a></p>",
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_anything_that_runs(text in "(<|>|\\(|\\)|\\[|\\]|!|`|\\*|_|#|-|\n| |a|on|=|\"|'|javascript:|data:|script|style|hx-get|img|src|href|&|;|\\|){0,60}") {
            let html = render(&text).into_string();
            for bad in ["<script", "<style", "<img", "<iframe", " on", " hx-", " style=", " data-", "href=\"javascript:", "href=\"data:"] {
                // Within text every sign that could open a tag is escaped, so that these stand in tags alone.
                for tag in html.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
                    let tag = format!("<{}", tag.to_lowercase());
                    prop_assert!(!tag.contains(bad), "{text:?} gives {html}");
                }
            }
        }
    }
}
