//! Formatting of numbers.

use comfy_table::{CellAlignment, Table, presets};

/// A table of numbers, each with its name and meaning.
pub(crate) fn of<'a>(rows: impl IntoIterator<Item = (&'a str, u64, &'a str)>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for (name, value, meaning) in rows {
        table.add_row([name.to_owned(), value.to_string(), meaning.to_owned()]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}
