//! Which store a URL names.

use std::{path::PathBuf, sync::Arc};

use object_store::{ObjectStore, local::LocalFileSystem, memory::InMemory, path::Path};
use url::Url;

use crate::OpenError;

/// A store as its URL names it.
pub(crate) struct Opened {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// URL of the store, which ends with a slash: the beginning of its claim checks.
    pub(crate) url: Arc<str>,
    /// What all objects are below.
    pub(crate) prefix: Path,
    /// The folder, where the store is one.
    pub(crate) folder: Option<PathBuf>,
}

/// Opens the store of a URL. A folder is made if it is not there.
pub(crate) fn open(text: &str) -> Result<Opened, OpenError> {
    let url = checked(text)?;
    match url.scheme() {
        "memory" => Ok(Opened {
            objects: Arc::new(InMemory::new()),
            prefix: prefix(&url)?,
            url: url.as_str().into(),
            folder: None,
        }),
        "file" => folder(&url),
        _ => cloud(&url),
    }
}

/// The URL with a slash at its end. One that could hold a secret is refused: it would be in every claim check.
fn checked(text: &str) -> Result<Url, OpenError> {
    let wrong = |why: String| OpenError::Url { why };
    let mut url = Url::parse(text).map_err(|error| wrong(format!("no URL ({error})")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "credentials in the URL, where they do not belong".into(),
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("the URL has a ? or #".into()));
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn prefix(url: &Url) -> Result<Path, OpenError> {
    Path::from_url_path(url.path()).map_err(|error| OpenError::Url {
        why: error.to_string(),
    })
}

fn folder(url: &Url) -> Result<Opened, OpenError> {
    let folder = url.to_file_path().map_err(|()| OpenError::Url {
        why: "no path of a folder".into(),
    })?;
    let failed = |source| OpenError::Folder {
        path: folder.display().to_string(),
        source,
    };
    std::fs::create_dir_all(&folder).map_err(|error| failed(error.into()))?;
    let objects =
        LocalFileSystem::new_with_prefix(&folder).map_err(|error| failed(error.into()))?;
    Ok(Opened {
        objects: Arc::new(objects.with_fsync(true)),
        url: url.as_str().into(),
        prefix: Path::default(),
        folder: Some(folder),
    })
}

#[cfg(feature = "remote")]
fn cloud(url: &Url) -> Result<Opened, OpenError> {
    use crate::retry_after::{options_with, remote};

    if url.host_str().is_none() {
        return Err(OpenError::Url {
            why: "no bucket in the URL".into(),
        });
    }
    let objects: Result<Arc<dyn ObjectStore>, object_store::Error> = match url.scheme() {
        #[cfg(feature = "aws")]
        "s3" => {
            let settings = object_store::aws::AmazonS3Builder::from_env().with_url(url.as_str());
            let options = options_with(|key| {
                settings.get_config_value(&object_store::aws::AmazonS3ConfigKey::Client(key))
            });
            remote!(settings, options)
        }
        #[cfg(feature = "gcp")]
        "gs" => {
            let settings =
                object_store::gcp::GoogleCloudStorageBuilder::from_env().with_url(url.as_str());
            let options = options_with(|key| {
                settings.get_config_value(&object_store::gcp::GoogleConfigKey::Client(key))
            });
            remote!(settings, options)
        }
        #[cfg(feature = "azure")]
        "az" => {
            let settings =
                object_store::azure::MicrosoftAzureBuilder::from_env().with_url(url.as_str());
            let options = options_with(|key| {
                settings.get_config_value(&object_store::azure::AzureConfigKey::Client(key))
            });
            remote!(settings, options)
        }
        _ => return Err(not_built(url)),
    };
    Ok(Opened {
        objects: objects.map_err(|error| OpenError::Settings {
            store: url.to_string(),
            source: error.into(),
        })?,
        prefix: prefix(url)?,
        url: url.as_str().into(),
        folder: None,
    })
}

#[cfg(not(feature = "remote"))]
fn cloud(url: &Url) -> Result<Opened, OpenError> {
    Err(not_built(url))
}

fn not_built(url: &Url) -> OpenError {
    let scheme = url.scheme().to_owned();
    match url.scheme() {
        "s3" => OpenError::NotBuilt {
            scheme,
            feature: "aws",
        },
        "gs" => OpenError::NotBuilt {
            scheme,
            feature: "gcp",
        },
        "az" => OpenError::NotBuilt {
            scheme,
            feature: "azure",
        },
        _ => OpenError::Url {
            why: format!("{scheme} is no kind of store"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        match open(url) {
            Ok(_) => panic!("{url} is taken"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn urls_that_name_no_store_are_refused_with_what_would() {
        for (url, why) in [
            ("claims", "no URL"),
            ("ftp://there/claims", "ftp is no kind of store"),
            ("s3:///prefix", "no bucket"),
            ("file:///tmp/claims?x=1", "a ? or #"),
        ] {
            let refusal = refusal(url);
            assert!(
                refusal.contains(why) && refusal.contains("s3://bucket/prefix"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_secret_in_the_url_is_refused_and_not_repeated() {
        let refusal = refusal("s3://AKIA1:hunter2@bucket/prefix");
        assert!(refusal.contains("credentials in the URL"), "{refusal}");
        assert!(
            !refusal.contains("hunter2") && !refusal.contains("AKIA1"),
            "{refusal}"
        );
    }
}
