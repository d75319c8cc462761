//! Several sources of settings become one.

use serde::Serialize;
use toml::{Table, Value};

/// Settings of one source, as a table.
pub(super) fn table(of: &impl Serialize) -> anyhow::Result<Table> {
    Ok(Table::try_from(of)?)
}

/// Both, of which the second beats the first, setting by setting.
pub(super) fn merged(mut under: Table, over: Table) -> Table {
    for (key, value) in over {
        let value = match (under.remove(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => Value::Table(merged(under, over)),
            (_, value) => value,
        };
        under.insert(key, value);
    }
    under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_joined_and_all_else_is_replaced() {
        let table = |text: &str| -> Table { text.parse().expect("it is TOML") };
        let under = table("a = 1\nb = [1, 2]\n[c]\nd = 1\ne = 1\n");
        let over = table("b = [3]\nf = 1\n[c]\nd = 2\n");
        let expected = table("a = 1\nb = [3]\nf = 1\n[c]\nd = 2\ne = 1\n");
        assert_eq!(merged(under, over), expected);
    }
}
