//! Keys of forms that begin something: what is sent twice begins once, and what is sent with another content begins anew.

use std::collections::{BTreeMap, HashMap};

use maud::{Markup, html};
use prost::Message;
use uuid::Uuid;

/// Name of the field.
pub(crate) const FIELD: &str = "key";

/// The space of the keys that follow from what was sent. It never changes.
const KEYS: Uuid = Uuid::from_u128(0x8a4f_1c52_90de_4b37_a6c1_5e08_d27b_93f4);

/// The hidden field of a form, with a key of its own. A page that is kept up to date keeps the one that it has. `form` is unique on the page.
pub(crate) fn field(form: &str) -> Markup {
    html! { input id={ "key-" (form) } type="hidden" name=(FIELD) value=(Uuid::now_v7()) autocomplete="off" hx-morph-skip; }
}

/// A key for the form of an answer that refuses what was sent: `page.js` puts it in place of the one that was refused, under which nothing else
/// could be asked for.
pub(crate) fn renewed() -> Markup {
    html! { div hidden data-key=(Uuid::now_v7()) {} }
}

/// The idempotency key of what was sent: that of the form and all that was filled in. Empty if the form has none.
pub(crate) fn of(form: &HashMap<String, String>) -> String {
    if form.get(FIELD).is_none_or(String::is_empty) {
        return String::new();
    }
    let sent: BTreeMap<&String, &String> = form.iter().collect();
    let sent = format!("{sent:?}");
    Uuid::new_v5(&KEYS, sent.as_bytes()).to_string()
}

/// The idempotency key of a request that a form with this key makes. Empty if the form has none.
pub(crate) fn of_request(key: &str, request: &impl Message) -> String {
    if key.is_empty() {
        return String::new();
    }
    let sent = [key.as_bytes(), &[0], &request.encode_to_vec()].concat();
    Uuid::new_v5(&KEYS, &sent).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(key: &str, input: &str) -> String {
        let fields = [("key", key), ("input", input), ("from", "a")];
        let form = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        of(&form.into())
    }

    #[test]
    fn what_is_sent_twice_has_one_key_and_anything_else_another() {
        assert_eq!(sent("k", "{}"), sent("k", "{}"));
        assert_ne!(sent("k", "{}"), sent("k", "{\"n\": 1}"));
        assert_ne!(sent("k", "{}"), sent("other", "{}"));
        assert_eq!(sent("", "{}"), "", "nothing is known again without a key");
    }

    #[test]
    fn each_form_that_is_drawn_has_a_key_of_its_own_which_a_live_page_keeps() {
        let (first, second) = (field("retry").into_string(), field("retry").into_string());
        assert_ne!(first, second);
        assert!(first.contains("id=\"key-retry\"") && first.contains("hx-morph-skip"));
    }
}
