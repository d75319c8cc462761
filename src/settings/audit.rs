//! Settings of the audit.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use agenthub_access::audit::AuditSettings;
use serde::Deserialize;

use super::Settings;

/// Seconds of a day.
const DAY: u64 = 24 * 3600;

/// The table `[audit]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Audit {
    /// Folder of its files; in the data folder if not given.
    #[serde(default)]
    folder: Option<PathBuf>,
    /// Days for which lines are kept.
    #[serde(default)]
    days: Option<NonZeroU32>,
    /// MiB up to which they are kept, whatever their age.
    #[serde(default)]
    mib: Option<NonZeroU32>,
}

impl Settings {
    /// The audit; `None` if there is no place for it.
    pub(crate) fn audit(&self) -> Option<AuditSettings> {
        let Audit { folder, days, mib } = &self.audit;
        let mut settings = AuditSettings::in_folder(self.data().unwrap_or("".as_ref()));
        match folder {
            Some(folder) => settings.folder.clone_from(folder),
            None => drop(self.data()?),
        }
        if let Some(days) = days {
            settings.age = Duration::from_secs(u64::from(days.get()) * DAY);
        }
        if let Some(mib) = mib {
            settings.bytes = u64::from(mib.get()) << 20;
        }
        Some(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_in_the_data_folder_unless_the_settings_name_another() {
        let of = |text: &str| Settings::of_text(text).expect("right").audit();
        let audit = of("data = 'd'").expect("there is a folder");
        assert_eq!(audit, AuditSettings::in_folder("d".as_ref()));
        assert_eq!(of("ephemeral = true"), None);
        let audit = of("ephemeral = true\n[audit]\nfolder = 'a'\ndays = 2\nmib = 3\n");
        let audit = audit.expect("a folder is named");
        assert_eq!(audit.folder, PathBuf::from("a"));
        assert_eq!(audit.age, Duration::from_secs(2 * DAY));
        assert_eq!(audit.bytes, 3 << 20);
    }
}
