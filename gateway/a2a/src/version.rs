//! Versions of A2A (specification §3.6): `major.minor`; nothing is 0.3.

use crate::error::{Error, Kind};

/// Header, and metadata of gRPC, that names the version of a request.
pub const VERSION_HEADER: &str = "a2a-version";

/// Header, and metadata of gRPC, with the extensions that a client speaks.
pub const EXTENSIONS_HEADER: &str = "a2a-extensions";

/// A version that is spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// 0.3, over JSON-RPC only.
    Old,
    /// 1.0.
    One,
}

impl Version {
    /// Its name in cards.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Old => "0.3",
            Self::One => "1.0",
        }
    }

    /// The version that a request names. Patch numbers do not count.
    ///
    /// # Errors
    ///
    /// [`Kind::VersionNotSupported`] for any other.
    pub(crate) fn of(header: Option<&str>) -> Result<Self, Error> {
        let text = header.unwrap_or_default().trim();
        let mut numbers = text.split('.');
        let two = (numbers.next(), numbers.next());
        match two {
            (Some(""), None) | (Some("0"), Some("3")) => Ok(Self::Old),
            (Some("1"), Some("0") | None) => Ok(Self::One),
            _ => Err(Kind::VersionNotSupported
                .with(format!(
                    "A2A {text:?} is not spoken here; send A2A-Version: 1.0, or 0.3 over JSON-RPC"
                ))
                .about("requestedVersion", text)
                .about("supportedVersions", "1.0, 0.3")),
        }
    }

    /// The version of a request to an interface that speaks 1.0 only.
    ///
    /// # Errors
    ///
    /// [`Kind::VersionNotSupported`] for any other.
    pub(crate) fn one(header: Option<&str>) -> Result<(), Error> {
        match Self::of(header)? {
            Self::One => Ok(()),
            Self::Old => Err(Kind::VersionNotSupported
                .with(
                    "A2A 0.3, of which a request without A2A-Version is, is spoken over JSON-RPC only; send A2A-Version: 1.0",
                )
                .about("requestedVersion", "0.3")
                .about("supportedVersions", "1.0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: A2A 1.0.1 §3.6.2
    #[test]
    fn nothing_is_the_old_version_and_patches_do_not_count() {
        let of = |text| Version::of(text).map_err(|e| e.kind);
        assert_eq!(of(None), Ok(Version::Old));
        assert_eq!(of(Some("")), Ok(Version::Old));
        assert_eq!(of(Some("0.3")), Ok(Version::Old));
        assert_eq!(of(Some("0.3.0")), Ok(Version::Old));
        assert_eq!(of(Some("1.0")), Ok(Version::One));
        assert_eq!(of(Some("1.0.1")), Ok(Version::One));
        for other in ["99.0", "1.1", "0.2.6", "x"] {
            assert_eq!(of(Some(other)), Err(Kind::VersionNotSupported), "{other}");
        }
        assert!(Version::one(None).is_err());
    }
}
