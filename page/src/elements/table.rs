//! Tables. On a phone each row is a card, in which every value stands beside the head of its column.

use maud::{Markup, Render, html};

use super::visible;

/// A cell of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    content: Markup,
    class: &'static str,
    title: Option<String>,
    /// Columns that it takes.
    span: usize,
    is_head: bool,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    id: Option<String>,
    is_failed: bool,
    is_current: bool,
    cells: Vec<Cell>,
}

/// Class of a cell that has a number.
const NUMBER: &str = "number";

impl Cell {
    pub(crate) fn new(content: impl Render) -> Self {
        Self {
            content: content.render(),
            class: "",
            title: None,
            span: 1,
            is_head: false,
        }
    }

    /// A number, which stands below others.
    pub(crate) fn number(content: impl Render) -> Self {
        Self::new(content).class(NUMBER)
    }

    /// Words, which may be many.
    pub(crate) fn words(content: impl Render) -> Self {
        Self::new(content).class("words")
    }

    /// The head of a row.
    pub(crate) fn head(content: impl Render) -> Self {
        Self {
            is_head: true,
            ..Self::new(content)
        }
    }

    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// With these words where somebody points at it. Characters that nobody sees are shown in them, too.
    pub(crate) fn title(self, title: &str) -> Self {
        Self {
            title: Some(visible(title)),
            ..self
        }
    }

    /// Spans this many columns.
    pub(crate) fn across(self, span: usize) -> Self {
        Self { span, ..self }
    }

    /// The cell as markup, with the head of its column unless it spans several.
    fn drawn(&self, head: &str) -> Markup {
        let class = (!self.class.is_empty()).then_some(self.class);
        let head = (self.span == 1 && !head.is_empty()).then_some(head);
        let span = (self.span > 1).then_some(self.span);
        html! {
            @if self.is_head { th scope="row" class=[class] title=[&self.title] { (self.content) } }
            @else { td data-head=[head] class=[class] title=[&self.title] colspan=[span] { (self.content) } }
        }
    }
}

impl Row {
    pub(crate) fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            ..Self::default()
        }
    }

    /// With an id, to which links lead.
    pub(crate) fn id(self, id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..self
        }
    }

    /// Marked as one that failed.
    pub(crate) fn failed(self, is_failed: bool) -> Self {
        Self { is_failed, ..self }
    }

    /// Marked as the one that the page is about.
    pub(crate) fn current(self, is_current: bool) -> Self {
        Self { is_current, ..self }
    }

    fn has_number(&self, column: usize) -> bool {
        self.cells
            .get(column)
            .is_some_and(|cell| cell.class == NUMBER)
    }

    fn drawn(&self, heads: &[&str]) -> Markup {
        let heads = heads.iter().copied().chain(std::iter::repeat(""));
        html! {
            tr id=[&self.id] class=[self.is_failed.then_some("failed")] aria-current=[self.is_current.then_some("true")] {
                @for (cell, head) in self.cells.iter().zip(heads) { (cell.drawn(head)) }
            }
        }
    }
}

/// A table, or words in place of one without rows.
pub(crate) fn table(heads: &[&str], rows: &[Row], nothing: &str) -> Markup {
    let is_number = |column: usize| rows.iter().any(|row| row.has_number(column));
    html! {
        @if rows.is_empty() {
            p.nothing { (nothing) }
        } @else {
            div.wide {
                table.rows {
                    thead {
                        tr {
                            @for (column, head) in heads.iter().enumerate() {
                                th scope="col" class=[is_number(column).then_some(NUMBER)] { (head) }
                            }
                        }
                    }
                    tbody { @for row in rows { (row.drawn(heads)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 26: a table can be read at the width of a phone.
    #[test]
    fn every_cell_has_the_head_of_its_column_and_numbers_stand_below_theirs() {
        let row = Row::new([
            Cell::words(html! { a href="/x" { "a <td> b" } }),
            Cell::number(3),
            Cell::new("c").title("\"why\"\u{202e}"),
        ]);
        let shown = table(&["What \"for\"", "Count", ""], &[row], "").into_string();
        assert!(
            shown.contains("<td data-head=\"What &quot;for&quot;\" class=\"words\">"),
            "{shown}"
        );
        assert!(
            shown.contains("<td data-head=\"Count\" class=\"number\">3"),
            "{shown}"
        );
        assert!(
            shown.contains("<td title=\"&quot;why&quot;⟪U+202E⟫\">c</td>"),
            "{shown}"
        );
        assert!(shown.contains("a &lt;td&gt; b"), "{shown}");
        assert!(
            shown.contains("<th scope=\"col\" class=\"number\">Count"),
            "{shown}"
        );
        assert_eq!(shown.matches("class=\"number\"").count(), 2, "{shown}");
    }

    #[test]
    fn a_cell_across_columns_has_no_head() {
        let row = Row::new([Cell::new("3 more").across(2)]).id("<r>");
        let shown = table(&["A", "B"], std::slice::from_ref(&row), "").into_string();
        assert!(
            shown.contains("<tr id=\"&lt;r&gt;\"><td colspan=\"2\">3 more"),
            "{shown}"
        );
        let marked = [row.clone().failed(true), row.current(true)];
        let shown = table(&["A", "B"], &marked, "").into_string();
        assert!(shown.contains("class=\"failed\"><td"), "{shown}");
        assert!(shown.contains("aria-current=\"true\"><td"), "{shown}");
        let row = Row::new([Cell::head("9:00"), Cell::number("1")]);
        let shown = table(&["until", "count"], &[row], "").into_string();
        assert!(
            shown.contains("<th scope=\"row\">9:00</th><td data-head=\"count\""),
            "{shown}"
        );
        assert!(table(&["A"], &[], "none").into_string().contains("none"));
    }
}
