//! Markdown that models and agents write, as markup. Only what is listed here becomes an element; all else, HTML above all, is shown as the text
//! that it is. So there is nothing to take out again.

use maud::{Markup, PreEscaped, Render, html};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::elements::visible;

/// The longest text that is laid out, in bytes. A longer one is shown as text.
const MAX_BYTES: usize = 100_000;

/// The deepest nesting that is laid out.
const MAX_DEPTH: usize = 32;

/// The text, laid out.
pub(crate) fn rendered(text: &str) -> Markup {
    if text.len() > MAX_BYTES {
        return crate::elements::text(text);
    }
    let mut out = Output::default();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        out.take(event);
    }
    out.finish();
    html! { div.markdown { (PreEscaped(out.html)) } }
}

/// The markup so far, and the elements that are open.
#[derive(Debug, Default)]
struct Output {
    html: String,
    /// Names of the open elements; `None` of what is no element here.
    open: Vec<Option<&'static str>>,
    in_head: bool,
}

impl Output {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(end) => self.end(end),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => {
                self.html.push_str("<code>");
                self.text(&code);
                self.html.push_str("</code>");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "[x] " } else { "[ ] " }),
        }
    }

    fn text(&mut self, text: &str) {
        visible(text).render_to(&mut self.html);
    }

    fn open(&mut self, name: &'static str) {
        if self.open.len() >= MAX_DEPTH {
            self.open.push(None);
            return;
        }
        self.html.push('<');
        self.html.push_str(name);
        self.html.push('>');
        self.open.push(Some(name));
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => self.open("p"),
            // The page has headings of its own above them.
            Tag::Heading { level, .. } => self.open(match level {
                HeadingLevel::H1 | HeadingLevel::H2 => "h3",
                HeadingLevel::H3 => "h4",
                _ => "h5",
            }),
            Tag::BlockQuote(_) => self.open("blockquote"),
            Tag::CodeBlock(kind) => {
                self.open("pre");
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.html.push_str("<small>");
                    self.text(language);
                    self.html.push_str("</small>\n");
                }
            }
            Tag::List(Some(_)) => self.open("ol"),
            Tag::List(None) => self.open("ul"),
            Tag::Item => self.open("li"),
            Tag::Emphasis => self.open("em"),
            Tag::Strong => self.open("strong"),
            Tag::Strikethrough => self.open("s"),
            Tag::Table(_) => self.open("table"),
            Tag::TableHead => {
                self.in_head = true;
                self.open("tr");
            }
            Tag::TableRow => self.open("tr"),
            Tag::TableCell => self.open(if self.in_head { "th" } else { "td" }),
            // An image would be fetched from where its author wants: it is a link, too.
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(dest_url),
            _ => self.open.push(None),
        }
    }

    fn link(&mut self, to: &str) {
        let is_within_link = self.open.contains(&Some("a"));
        if !may_be_linked(to) || is_within_link || self.open.len() >= MAX_DEPTH {
            self.open.push(None);
            return;
        }
        self.html
            .push_str("<a rel=\"noopener noreferrer nofollow\" href=\"");
        to.render_to(&mut self.html);
        self.html.push_str("\">");
        self.open.push(Some("a"));
    }

    fn end(&mut self, end: TagEnd) {
        if end == TagEnd::TableHead {
            self.in_head = false;
        }
        self.close();
    }

    fn close(&mut self) {
        if let Some(Some(name)) = self.open.pop() {
            self.html.push_str("</");
            self.html.push_str(name);
            self.html.push('>');
        }
    }

    fn finish(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }
}

/// True for addresses that a browser opens as a page or a mail, and for none that run anything.
fn may_be_linked(to: &str) -> bool {
    let to = to.to_ascii_lowercase();
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| to.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let html = rendered(text).into_string();
        let inner = html.strip_prefix("<div class=\"markdown\">");
        inner
            .and_then(|html| html.strip_suffix("</div>"))
            .expect("it is within one")
            .to_owned()
    }

    #[test]
    fn markdown_is_laid_out() {
        assert_eq!(
            shown("# A\n\nb **c** `d`"),
            "<h3>A</h3><p>b <strong>c</strong> <code>d</code></p>"
        );
        assert_eq!(shown("- a\n- b"), "<ul><li>a</li><li>b</li></ul>");
        assert_eq!(
            shown("|a|\n|-|\n|b|"),
            "<table><tr><th>a</th></tr><tr><td>b</td></tr></table>"
        );
        assert_eq!(
            shown("[x](https://e.example/?a=1&b=2)"),
            "<p><a rel=\"noopener noreferrer nofollow\" href=\"https://e.example/?a=1&amp;b=2\">x</a></p>"
        );
    }

    #[test]
    fn characters_that_nobody_sees_have_marks() {
        assert_eq!(
            shown("a\u{202e}b `c\u{1b}`\r\nd"),
            "<p>a⟪U+202E⟫b <code>c␦</code>\nd</p>"
        );
    }

    #[test]
    fn what_is_hostile_is_text() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "a <b onclick=\"alert(1)\">b</b>",
            "<!-- --><style>*{display:none}</style>",
            "```\"><script>alert(1)</script>\nx\n```",
            "`<svg onload=alert(1)>`",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](java\tscript:alert(1))",
            "[a](data:text/html;base64,PHNjcmlwdD4=)",
            "[a](vbscript:x)",
            "![a](javascript:alert(1))",
            "<javascript:alert(1)>",
            "[a](https://e.example/\"onmouseover=\"alert(1))",
            "[![a](https://e.example/a)](javascript:alert(1))",
            "[a]: javascript:alert(1)\n\n[a]",
        ] {
            let shown = shown(hostile);
            let mut rest = shown.as_str();
            while let Some(at) = rest.find('<') {
                let tag = &rest[at..rest[at..].find('>').map_or(rest.len(), |end| at + end + 1)];
                let is_known = [
                    "<p>", "</p>", "<pre>", "</pre>", "<code>", "</code>", "<small>", "</small>",
                    "</a>",
                ]
                .contains(&tag);
                let is_link = tag.strip_prefix("<a rel=\"noopener noreferrer nofollow\" href=\"");
                let is_link = is_link.and_then(|tag| tag.strip_suffix("\">"));
                let is_link = is_link.is_some_and(|to| may_be_linked(to) && !to.contains('"'));
                assert!(is_known || is_link, "{tag} in {shown}");
                rest = &rest[at + tag.len()..];
            }
        }
    }

    #[test]
    fn links_within_links_and_deep_nesting_end_well() {
        let nested = shown("[![a](https://e.example/i)](https://e.example/l)");
        assert_eq!(nested.matches("<a ").count(), 1, "{nested}");
        let deep = shown(&"> ".repeat(500));
        assert!(deep.matches("<blockquote>").count() <= MAX_DEPTH);
        assert_eq!(
            deep.matches("<blockquote>").count(),
            deep.matches("</blockquote>").count()
        );
        let long = rendered(&"*a* ".repeat(50_000)).into_string();
        assert!(long.starts_with("<pre"), "shown as text");
    }
}
