//! State of a page that is open, by what was sent to it, and what brings it up to date.

use std::hash::{DefaultHasher, Hash, Hasher};

use maud::{Markup, PreEscaped, html};

use super::Piece;

/// The pieces that a page has: the id and a digest of each.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pieces: Vec<(String, u64)>,
    /// The link in the head of the page to what waits for the viewer; `None` until it was sent.
    waiting: Option<String>,
}

impl Sent {
    /// Markup for a page that has these pieces to be as it is now; `None` if it is. Pieces that changed are replaced, those that came at the end are
    /// appended, those that are gone from there are deleted, and where the first is another one, or one has another place, all are sent.
    pub(super) fn news(&mut self, pieces: &[Piece], waiting: Markup) -> Option<String> {
        let now = pieces.iter().map(|piece| (piece.id.clone(), digest(piece)));
        let before = std::mem::replace(&mut self.pieces, now.collect());
        let is_there = |((known, _), piece): &(&(String, u64), &Piece)| *known == piece.id;
        let still = before.iter().zip(pieces).take_while(is_there).count();
        let (still_there, gone) = before.split_at(still);
        let has_moved = |(id, _): &(String, u64)| pieces.iter().any(|piece| piece.id == *id);
        let news = match still == 0 || gone.iter().any(has_moved) {
            true => html! { @for piece in pieces { (piece) } },
            false => html! {
                @for ((_, known), (piece, (_, now))) in still_there.iter().zip(pieces.iter().zip(&self.pieces)) {
                    @if known != now { (replaced(piece)) }
                }
                @for (gone, _) in gone { hx-partial id=(gone) hx-swap="delete" {} }
                @for piece in &pieces[still..] { (appended(piece)) }
            },
        };
        let mut news = news.into_string();
        let waiting = waiting.into_string();
        if self.waiting.as_ref() != Some(&waiting) {
            let link = html! { hx-partial id="waiting" hx-swap="outerHTML" { span id="waiting" { (PreEscaped(&waiting)) } } };
            news.push_str(&link.into_string());
            self.waiting = Some(waiting);
        }
        (!news.is_empty()).then_some(news)
    }
}

fn digest(piece: &Piece) -> u64 {
    let mut hasher = DefaultHasher::new();
    piece.content.hash(&mut hasher);
    hasher.finish()
}

fn replaced(piece: &Piece) -> Markup {
    html! { hx-partial id=(piece.id) hx-swap="innerMorph" { (PreEscaped(&piece.content)) } }
}

fn appended(piece: &Piece) -> Markup {
    html! { hx-partial id="screen" hx-swap="beforeend" { (piece) } }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    fn pieces(contents: &[(&str, &str)]) -> Vec<Piece> {
        contents
            .iter()
            .map(|(id, text)| Piece::new(*id, html! { (text) }))
            .collect()
    }

    #[test]
    fn a_page_is_sent_all_once_and_then_what_has_changed() {
        let mut sent = Sent::default();
        let first = sent.news(&pieces(&[("a", "1"), ("b", "1")]), html! {});
        let all = "<div class=\"piece\" id=\"a\">1</div><div class=\"piece\" id=\"b\">1</div>";
        assert!(first.is_some_and(|first| first.starts_with(all)));
        assert_eq!(
            sent.news(&pieces(&[("a", "1"), ("b", "1")]), html! {}),
            None
        );
        let changed = sent.news(&pieces(&[("a", "1"), ("b", "2"), ("c", "1")]), html! {});
        let (changed_b, new_c) = (
            "<hx-partial id=\"b\" hx-swap=\"innerMorph\">2</hx-partial>",
            "<hx-partial id=\"screen\" hx-swap=\"beforeend\"><div class=\"piece\" id=\"c\">1</div></hx-partial>",
        );
        assert_eq!(changed, Some(format!("{changed_b}{new_c}")));
    }

    #[test]
    fn the_number_of_what_waits_is_sent_when_it_changes() {
        let mut sent = Sent::default();
        let screen = pieces(&[("a", "1")]);
        sent.news(&screen, html! {});
        let news = sent.news(&screen, html! { "one" });
        let link = "<hx-partial id=\"waiting\" hx-swap=\"outerHTML\"><span id=\"waiting\">one</span></hx-partial>";
        assert_eq!(news.as_deref(), Some(link));
        assert_eq!(sent.news(&screen, html! { "one" }), None);
    }

    #[test]
    fn what_is_gone_from_the_end_is_deleted_and_the_rest_stays() {
        let mut sent = Sent::default();
        sent.news(&pieces(&[("a", "1"), ("trouble", "1")]), html! {});
        let news = sent.news(&pieces(&[("a", "1"), ("b", "1")]), html! {});
        let (gone, new_b) = (
            "<hx-partial id=\"trouble\" hx-swap=\"delete\"></hx-partial>",
            "<hx-partial id=\"screen\" hx-swap=\"beforeend\"><div class=\"piece\" id=\"b\">1</div></hx-partial>",
        );
        assert_eq!(news, Some(format!("{gone}{new_b}")));
    }

    #[test]
    fn a_page_whose_pieces_are_others_is_sent_all_of_them() {
        for other in [
            pieces(&[("b", "1"), ("a", "1")]),
            pieces(&[("a", "1"), ("c", "1"), ("b", "1")]),
            pieces(&[("trouble", "1")]),
        ] {
            let mut sent = Sent::default();
            sent.news(&pieces(&[("a", "1"), ("b", "1")]), html! {});
            let news = sent.news(&other, html! {}).expect("they are others");
            assert_eq!(news.matches("<div class=\"piece\"").count(), other.len());
            assert!(!news.contains("hx-partial"), "{news}");
        }
    }
}
