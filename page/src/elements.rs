//! Elements of several screens: states, times, links, data, and tables that end with a next page.

mod table;

use agenthub_proto::{
    cortex::StepAttempt,
    direction::is_direction,
    wkt::{self, Timestamp},
};
use agenthub_sdk::proto::json;
use agenthub_terminal::listing::refusal::Refusal;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

pub(crate) use self::table::{Cell, Row, table};
use crate::clients::{A_PERSON, Client};

/// The most characters of a comment that are shown.
const MAX_COMMENT: usize = 500;

/// The most characters of one text that are shown.
pub(crate) const MAX_SHOWN: usize = 20_000;

/// A state in words, such as `completed, in part`, with a colour by its first word.
pub(crate) fn state(words: &str) -> Markup {
    let shown = crate::words::state(words);
    let title = (shown != words).then_some(words);
    html! { span class={ "state " (kind(words)) } title=[title] { (shown) } }
}

/// The colour of a state.
pub(crate) fn kind(words: &str) -> &'static str {
    let first = words.split([',', ' ']).next().unwrap_or_default();
    match first {
        "completed" if words == first => "good",
        "completed" if words.contains(", nothing ") => "bad",
        "completed" | "input-required" | "auth-required" | "awaiting-approval" | "refused"
        | "does" => "warn",
        "failed" | "rejected" => "bad",
        "submitted" | "working" | "cancelling" | "ready" => "busy",
        "online" | "here" | "reused" => "good",
        _ => "idle",
    }
}

/// A time as hour, minute and second of UTC, with the date behind it unless it is today's.
pub(crate) fn time(time: Option<&Timestamp>) -> Markup {
    let Some(time) = time.and_then(stamp) else {
        return html! { "–" };
    };
    html! { time datetime=(time) title=(time) { (clock(time, jiff::Timestamp::now())) } }
}

/// The same in words alone.
pub(crate) fn clock_words(time: Option<&Timestamp>) -> String {
    let time = time.and_then(stamp);
    time.map_or_else(String::new, |time| clock(time, jiff::Timestamp::now()))
}

fn stamp(time: &Timestamp) -> Option<jiff::Timestamp> {
    jiff::Timestamp::new(time.seconds, time.nanos).ok()
}

fn clock(time: jiff::Timestamp, now: jiff::Timestamp) -> String {
    let day = |time: jiff::Timestamp| time.strftime("%Y-%m-%d").to_string();
    let hour = time.strftime("%H:%M:%S");
    match day(time) == day(now) {
        true => format!("{hour} UTC"),
        false => format!("{} {hour} UTC", day(time)),
    }
}

/// The time between two moments, such as `1.2 s`.
pub(crate) fn lapse(from: Option<&Timestamp>, to: Option<&Timestamp>) -> Markup {
    let lapse = from.and_then(stamp).zip(to.and_then(stamp));
    match lapse {
        Some((from, to)) => {
            html! { span.lapse { (words_for(to.duration_since(from).as_millis())) } }
        }
        None => html! {},
    }
}

/// A duration in words, such as `1.2 s`.
pub(crate) fn words_for(milliseconds: i128) -> String {
    match milliseconds {
        ..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!(
            "{} min {} s",
            milliseconds / 60_000,
            milliseconds % 60_000 / 1_000
        ),
    }
}

/// The beginning of an id, which leads to what it is of.
pub(crate) fn id_link(place: &str, id: &str) -> Markup {
    html! { a.id href={ (place) (segment(id)) } title=(id) { (short(id)) } }
}

/// An agent's name, which leads to it, or who it is that is none; a dash of none.
pub(crate) fn agent(id: &str) -> Markup {
    match Client::of(id) {
        _ if id.is_empty() => html! { "–" },
        None => html! { a href={ "/ui/agents/" (segment(id)) } { bdi { (visible(id)) } } },
        Some(client) => {
            html! { bdi title={ (client.kind.words()) ", as " (id) } { (visible(client.who())) } }
        }
    }
}

/// An id as a part of a path.
pub(crate) fn segment(id: &str) -> String {
    id.bytes().fold(String::new(), |path, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            path + &char::from(byte).to_string()
        }
        _ => path + &format!("%{byte:02X}"),
    })
}

/// The first characters of a text.
pub(crate) fn short(text: &str) -> String {
    cut(text, 13)
}

/// A text on one line, at most that long.
pub(crate) fn line(text: &str, most: usize) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", visible(&text[..end])),
        None => visible(text),
    }
}

/// By whom a step was refused, when, and with what words.
pub(crate) fn refused(refusal: &Refusal) -> Markup {
    html! { p.refused { (decided(&refusal.by, refusal.at.as_ref(), &refusal.comment)) } }
}

/// By whom a step was allowed, when, and with what words; nothing of one that no person was asked about.
pub(crate) fn allowed(attempt: &StepAttempt) -> Markup {
    let decision = attempt.result.as_ref().map(json::from_value);
    let decision = decision.unwrap_or_default();
    let text = |field: &str| decision[field].as_str().unwrap_or_default().trim();
    let by = match text("by") {
        "" => A_PERSON,
        by => by,
    };
    html! {
        @if attempt.kind == "person" && decision["approved"] == true {
            p.about { "allowed " (decided(by, attempt.ended_at.as_ref(), text("comment"))) }
        }
    }
}

fn decided(by: &str, at: Option<&Timestamp>, comment: &str) -> Markup {
    html! {
        "by " (by) ", " (time(at))
        @if !comment.is_empty() { ": “" (line(comment, MAX_COMMENT)) "”" }
    }
}

/// Words as a sentence: with a mark at their end, their own or a full stop.
pub(crate) fn sentence(words: &str) -> String {
    let words = words.trim_end();
    match words.chars().next_back() {
        None | Some('.' | '!' | '?' | '…' | ':' | '。') => words.to_owned(),
        Some(_) => format!("{words}."),
    }
}

/// The text with marks in place of characters that nobody sees and that make others stand elsewhere.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unseen(c) {
            true if is_direction(c) => shown += &format!("⟪U+{:04X}⟫", u32::from(c)),
            true => shown.push('␦'),
            false => shown.push(c),
        }
    }
    shown
}

/// True for a character that nobody sees, and that is no line break or tab.
fn is_unseen(c: char) -> bool {
    is_direction(c) || c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

/// Markup whose words are [visible], wherever they come from. What stands in tags and in boxes that somebody fills in stays as it is, as it is sent
/// again.
pub(crate) fn visible_markup(markup: Markup) -> Markup {
    let markup = markup.into_string();
    if !markup.contains(is_unseen) {
        return PreEscaped(markup);
    }
    let mut shown = String::with_capacity(markup.len());
    let mut is_in_box = false;
    for piece in markup.split_inclusive('>') {
        let (words, tag) = piece.split_at(piece.find('<').unwrap_or(piece.len()));
        match is_in_box {
            true => shown.push_str(words),
            false => shown.push_str(&visible(words)),
        }
        shown.push_str(tag);
        is_in_box = tag.starts_with("<textarea") || is_in_box && !tag.starts_with("</textarea");
    }
    PreEscaped(shown)
}

/// A text as somebody wrote it.
pub(crate) fn text(text: &str) -> Markup {
    html! { pre.text { (cut(text, MAX_SHOWN)) } }
}

/// Data, laid out.
pub(crate) fn data(data: &Value) -> Markup {
    let laid_out = serde_json::to_string_pretty(data).unwrap_or_default();
    html! { pre.data { (cut(&laid_out, MAX_SHOWN)) } }
}

/// A Protobuf value, laid out; nothing of none.
pub(crate) fn value(value: Option<&wkt::Value>) -> Markup {
    match value.map(json::from_value) {
        None | Some(Value::Null) => html! {},
        Some(Value::String(words)) => text(&words),
        Some(other) => data(&other),
    }
}

/// A link to the next page, if there is one.
pub(crate) fn next(path: &str, filters: &[(&str, &str)], token: &str) -> Markup {
    let query = |filters: &[(&str, &str)]| {
        let given = filters.iter().filter(|(_, value)| !value.is_empty());
        given
            .map(|(name, value)| format!("{name}={}&", segment(value)))
            .collect::<String>()
    };
    html! {
        @if !token.is_empty() {
            p { a href={ (path) "?" (query(filters)) "page=" (segment(token)) } { "Next page" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_shown_as_text() {
        let shown = text("<script>alert(1)</script>").into_string();
        assert_eq!(
            shown,
            r#"<pre class="text">&lt;script&gt;alert(1)&lt;/script&gt;</pre>"#
        );
        let link = agent("a/../\"><b>").into_string();
        assert_eq!(
            link,
            r#"<a href="/ui/agents/a%2F..%2F%22%3E%3Cb%3E"><bdi>a/../&quot;&gt;&lt;b&gt;</bdi></a>"#
        );
    }

    #[test]
    fn nothing_stands_elsewhere_by_a_character_that_nobody_sees() {
        assert_eq!(visible("root\u{202e}gpj.\u{7}"), "root⟪U+202E⟫gpj.␦");
        assert_eq!(line("a\u{2066}b", 10), "a⟪U+2066⟫b");
        let drawn = agent("root\u{202e}gpj").into_string();
        assert!(drawn.contains("<bdi>root⟪U+202E⟫gpj</bdi>"), "{drawn}");
    }

    #[test]
    fn markup_shows_such_characters_in_its_words_and_sends_what_it_was_given() {
        let markup = html! {
            p title="a\u{202e}b" { "a\u{202e}b" b { "c\u{1b}" } }
            textarea { "d\u{202e}" }
            p { "e\u{7}" }
        };
        assert_eq!(
            visible_markup(markup).into_string(),
            "<p title=\"a\u{202e}b\">a⟪U+202E⟫b<b>c␦</b></p><textarea>d\u{202e}</textarea><p>e␦</p>"
        );
        let plain = html! { p { "a\r\nb" } };
        assert_eq!(visible_markup(plain.clone()).into_string(), plain.0);
    }

    #[test]
    fn a_part_is_no_success() {
        assert!(state("completed").into_string().contains("good"));
        assert!(state("completed, in part").into_string().contains("warn"));
        assert!(state("failed").into_string().contains("bad"));
    }

    #[test]
    fn times_have_their_date_unless_it_is_today() {
        let now: jiff::Timestamp = "2026-11-28T10:00:00Z".parse().expect("a time");
        let clock = |time: &str| clock(time.parse().expect("a time"), now);
        assert_eq!(clock("2026-11-28T09:05:06.7Z"), "09:05:06 UTC");
        assert_eq!(clock("2026-11-27T09:05:06Z"), "2026-11-27 09:05:06 UTC");
        assert_eq!(words_for(999), "999 ms");
        assert_eq!(words_for(1_250), "1.2 s");
        assert_eq!(words_for(61_000), "1 min 1 s");
    }

    #[test]
    fn long_texts_end_with_an_ellipsis() {
        assert_eq!(line("a\n b  c", 10), "a b c");
        assert_eq!(line("äöüß", 3), "äöü…");
    }
}
