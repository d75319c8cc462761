//! Types that files and answers keep as text.

/// Has `serde` read and write a type as text, with its `FromStr`, whose error is given, and its `Display`. The type says `try_from` and `into` of
/// `String`.
macro_rules! kept_as_text {
    ($kept:ident, $invalid:ident) => {
        impl TryFrom<String> for $kept {
            type Error = $invalid;

            fn try_from(text: String) -> Result<Self, $invalid> {
                text.parse()
            }
        }

        impl From<$kept> for String {
            fn from(kept: $kept) -> Self {
                kept.to_string()
            }
        }
    };
}
