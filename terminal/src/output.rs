//! Printing: lines, tables and JSON.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use agenthub_proto::direction::is_direction;
use comfy_table::{ContentArrangement, Table, presets};

/// The longest text in a column of a table, in characters.
const MAX_CELL: usize = 60;

/// To how many characters a column is cut at most.
const MIN_CELL: usize = 6;

/// The space between two columns, in characters.
const GAP: usize = 2;

/// Prints a line on stdout; on a terminal it is [`plain`], whoever has written it.
///
/// # Errors
///
/// Nobody reads any more, mostly.
pub fn line(text: impl AsRef<str>) -> io::Result<()> {
    styled(shown(text.as_ref(), io::stdout().is_terminal()))
}

/// Prints a line on stdout whose control characters are this program's own: words of others in it are [`plain`] already.
///
/// # Errors
///
/// Nobody reads any more, mostly.
pub fn styled(text: impl AsRef<str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints a line on stderr, as [`line()`] does on stdout. Whether anybody reads it makes no difference.
pub fn aside(text: impl AsRef<str>) {
    styled_aside(shown(text.as_ref(), io::stderr().is_terminal()));
}

/// Prints a line on stderr, as [`styled`] does on stdout. Whether anybody reads it makes no difference.
pub fn styled_aside(text: impl AsRef<str>) {
    let line = format!("{}\n", text.as_ref());
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// The text as it is printed. Programs that read it get it as it is.
fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    match is_terminal {
        true => plain(text),
        false => Cow::Borrowed(text),
    }
}

/// Prints a warning on stderr that nobody is to overlook: between empty lines, on a terminal in red.
pub fn alarm(text: &str) {
    match io::stderr().is_terminal() {
        true => styled_aside(format!("\n\u{1b}[1;31m{}\u{1b}[0m\n", plain(text))),
        false => aside(format!("\n{text}\n")),
    }
}

/// Prints a message as one line of canonical JSON, as [`line()`] does.
pub fn json<M: prost::Message + prost::Name>(message: &M) -> io::Result<()> {
    line(agenthub_proto::json::of(message).to_string())
}

/// Rows under their headings. Cells are one line each and are cut where they are too long.
pub fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings);
    for row in rows {
        table.add_row(row.iter().map(|cell| cut(cell, MAX_CELL)));
    }
    text_of(table)
}

/// Rows under their headings, one line each, within a width in characters: the widest columns are cut until they fit.
pub fn fitted<const N: usize>(headings: [&str; N], rows: Vec<[String; N]>, width: usize) -> String {
    let mut widths = headings.map(|heading| heading.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cut(cell, MAX_CELL).chars().count());
        }
    }
    while widths.iter().sum::<usize>() + GAP * (N - 1) > width {
        match widths.iter_mut().max() {
            Some(widest) if *widest > MIN_CELL => *widest -= 1,
            _ => break,
        }
    }
    let mut left = widths.iter().copied().cycle();
    let mut fit = |cell: &String| cut(cell, left.next().unwrap_or(MAX_CELL));
    let rows: Vec<[String; N]> = rows
        .iter()
        .map(|row| std::array::from_fn(|column| fit(&row[column])))
        .collect();
    table(headings, rows)
}

/// Rows under their headings, within a width in characters: what is longer goes on in the next line.
pub fn wrapped<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    width: usize,
) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(headings);
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell).into_owned()));
    }
    text_of(table)
}

fn text_of(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// The text in one line, cut where it is longer than `max` characters.
pub fn cut(text: &str, max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = plain(&words.join(" ")).into_owned();
    match text.char_indices().nth(max) {
        Some(_) => text
            .chars()
            .take(max.saturating_sub(1))
            .chain(['…'])
            .collect(),
        None => text,
    }
}

/// The text without the control characters with which it could do more to a terminal than be read. Line breaks and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    // A character that turns the direction of what follows does that, too.
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || is_direction(c);
    match text.contains(is_harmful) {
        true => Cow::Owned(text.replace(is_harmful, "")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_cells_are_one_line() {
        let rows = [
            ["agent_echo".to_owned(), "online".to_owned()],
            ["a\nb".to_owned(), "x".repeat(100)],
        ];
        let text = table(["ID", "STATE"], rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ID          STATE");
        assert_eq!(lines[1], "agent_echo  online");
        assert_eq!(lines[2].len(), 12 + MAX_CELL - 1 + '…'.len_utf8());
        assert!(lines[2].starts_with("a b         x"));
    }

    #[test]
    fn the_widest_columns_are_cut_until_a_table_fits() {
        let row = ["0123456789".to_owned(), "done".to_owned(), "x".repeat(200)];
        let text = fitted(["ID", "STATE", "REQUEST"], vec![row.clone()], 40);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ID          STATE  REQUEST");
        assert_eq!(lines[1].chars().count(), 40, "{text}");
        assert!(lines[1].starts_with("0123456789  done   xxx"), "{text}");
        let narrow = fitted(["ID", "STATE", "REQUEST"], vec![row], 10);
        assert_eq!(narrow.lines().nth(1), Some("01234…  done   xxxxx…"));
    }

    #[test]
    fn terminals_are_not_steered_from_outside() {
        let evil = "a\u{1b}[2Jb\u{7}\r\nc\td\u{9b}\u{202e}\u{200f}";
        assert_eq!(plain(evil), "a[2Jb\nc\td");
        // Every line that is printed on a terminal is.
        assert_eq!(shown(evil, true), "a[2Jb\nc\td");
        assert_eq!(shown(evil, false), evil);
    }
}
