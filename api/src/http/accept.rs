//! Content negotiation: the form of an answer that a client wants.

use axum::http::{HeaderMap, header};
use headers_accept::Accept;
use mediatype::MediaType;

use super::problem::{Kind, Problem};

/// The offer that the client likes most; the first one if it does not care, or says it in a way that cannot be read.
///
/// # Errors
///
/// It takes none of them.
pub(crate) fn choose<T: Copy>(
    headers: &HeaderMap,
    offers: &[(T, &'static str)],
) -> Result<T, Problem> {
    let parsed = offers
        .iter()
        .filter_map(|(offer, name)| Some((*offer, MediaType::parse(name).ok()?)));
    let (choices, types): (Vec<T>, Vec<MediaType<'static>>) = parsed.unzip();
    let first = choices.first().copied();
    let wanted = match accepted(headers) {
        Some(accept) => accept
            .negotiate(&types)
            .and_then(|chosen| types.iter().position(|offered| offered == chosen))
            .and_then(|index| choices.get(index).copied()),
        None => first,
    };
    wanted.ok_or_else(|| {
        let names: Vec<&str> = offers.iter().map(|(_, name)| *name).collect();
        Kind::NotAcceptable.with(format!(
            "the answer can be {}; ask for one of them in `Accept`",
            names.join(" or ")
        ))
    })
}

/// The client's `Accept`, if it sent one.
fn accepted(headers: &HeaderMap) -> Option<Accept> {
    let said = headers.get_all(header::ACCEPT).iter();
    let said: Vec<&str> = said.filter_map(|value| value.to_str().ok()).collect();
    let said = said.join(", ");
    match said.trim().is_empty() {
        true => None,
        false => said.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn chosen(accept: &[&'static str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for accept in accept {
            headers.append(header::ACCEPT, HeaderValue::from_static(accept));
        }
        let offers = [
            ("json", "application/json"),
            ("events", "text/event-stream"),
        ];
        choose(&headers, &offers).ok()
    }

    #[test]
    fn the_client_s_choice_is_taken() {
        for (accept, expected) in [
            (&[][..], Some("json")),
            (&[""], Some("json")),
            (&["*/*"], Some("json")),
            (&["text/event-stream"], Some("events")),
            (&["text/*"], Some("events")),
            (&["application/json, text/event-stream"], Some("json")),
            (&["text/event-stream, application/json"], Some("events")),
            (
                &["text/event-stream", "application/json;q=0.5"],
                Some("events"),
            ),
            (&["text/event-stream;q=0.5, */*"], Some("json")),
            (&["application/json;q=0, */*;q=0.1"], Some("events")),
            (&["text/html"], None),
            (&["not a type"], Some("json")),
        ] {
            assert_eq!(chosen(accept), expected, "{accept:?}");
        }
    }
}
