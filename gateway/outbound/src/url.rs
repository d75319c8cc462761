//! Addresses to call, as others write them.

use http::Uri;

use crate::Error;

/// The longest address, in bytes.
const MAX_URL: usize = 2_048;

/// Fault of an address without one of the schemes that are called.
const NO_SCHEME: &str = "it begins with neither http:// nor https://";

/// Reads an address to call. Hosts in decimal, octal or hexadecimal become the address that they stand for; a fragment is left out.
///
/// # Errors
///
/// [`Error::Url`]: it is too long, is neither http nor https, has no host, has credentials in it, or port 0.
pub fn parse(text: &str) -> Result<Uri, Error> {
    let wrong = |why: &str| Error::Url(why.to_owned());
    if text.len() > MAX_URL {
        return Err(wrong("it is longer than 2048 bytes"));
    }
    let mut url = match ::url::Url::parse(text) {
        Ok(url) => url,
        Err(::url::ParseError::RelativeUrlWithoutBase) => return Err(wrong(NO_SCHEME)),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(NO_SCHEME));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it has credentials in it; name them apart"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("it names no host"));
    }
    if url.port() == Some(0) {
        return Err(wrong("port 0 is nowhere"));
    }
    url.set_fragment(None);
    url.as_str()
        .parse()
        .map_err(|_| wrong("it cannot be written as a request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_connected_to() {
        for (text, expected) in [
            ("http://a.example", "http://a.example/"),
            ("HTTPS://A.example:443/x?y=1#z", "https://a.example/x?y=1"),
            ("http://a.example:8080/", "http://a.example:8080/"),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://0177.0.0.1/", "http://127.0.0.1/"),
            ("http://127.1/", "http://127.0.0.1/"),
            ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
            ("http://①②⑦.0.0.1/", "http://127.0.0.1/"),
            (
                "http://a.example\\@b.example/",
                "http://a.example/@b.example/",
            ),
        ] {
            assert_eq!(parse(text).expect(text).to_string(), expected, "{text}");
        }
        for text in [
            "",
            "a.example",
            "ftp://a.example/",
            "file:///etc/passwd",
            "http://",
            "http://user@a.example/",
            "http://user:secret@a.example/",
            "http://127.0.0.1@a.example/",
            "http://a.example:0/",
            "http://a.example:65536/",
            "http://300.1.1.1/",
            "http://[::1/",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        let error = parse("a.example").expect_err("no scheme").to_string();
        assert!(error.ends_with(NO_SCHEME), "{error}");
        assert!(parse(&format!("http://a.example/{}", "x".repeat(MAX_URL))).is_err());
    }
}
