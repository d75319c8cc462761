//! The tables of the settings about tools and teams: `[mcp.NAME]`, `[tools.NAME]` and `[sop]`.

use serde::Deserialize;

/// `[sop]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sop {
    /// A folder of SOPs without an orchestrator gets the built-in one.
    pub(crate) default_orchestrator: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agenthub_mcp::{
        client::{DEFAULT_TIMEOUT, Reach},
        toolshed::Named,
    };

    use crate::settings::Settings;

    fn load(file: &str) -> anyhow::Result<Settings> {
        Settings::of_text(file)
    }

    /// spec: SOP-1.4
    #[test]
    fn servers_and_names_are_read() {
        let file = "[mcp.files]\ncommand = ['npx', '-y', 's', '.']\nenv = ['TOKEN']\n\
            [mcp.web]\nurl = 'https://example.com/mcp'\ntoken_env = 'WEB'\ntimeout_s = 5\n\
            [tools.translate]\nagent = 'translator'\n[tools.search]\nmcp = 'web'\ntool = 'search'\n\
            [sop]\ndefault_orchestrator = true\n";
        let settings = load(file).expect("it is right");
        let files = &settings.servers["files"];
        assert_eq!(files.timeout, DEFAULT_TIMEOUT);
        let Reach::Command {
            line, environment, ..
        } = &files.reach
        else {
            panic!("it is a program");
        };
        assert_eq!(
            (line[0].as_str(), environment[0].as_str()),
            ("npx", "TOKEN")
        );
        let web = &settings.servers["web"];
        assert_eq!(web.timeout, Duration::from_secs(5));
        let (url, token_env) = ("https://example.com/mcp".to_owned(), Some("WEB".to_owned()));
        assert_eq!(web.reach, Reach::Http { url, token_env });
        assert_eq!(
            settings.names["translate"],
            Named::Agent("translator".to_owned())
        );
        let (server, tool) = ("web".to_owned(), "search".to_owned());
        assert_eq!(settings.names["search"], Named::Tool { server, tool });
        assert!(settings.sop.default_orchestrator);
        let bare = load("").expect("nothing is needed");
        assert!(bare.servers.is_empty() && !bare.sop.default_orchestrator);
    }

    /// The faults: what, where, and what to do.
    ///
    /// spec: SOP-1.5, SOP-7.5
    #[test]
    fn what_is_wrong_is_said_with_its_table() {
        for (file, parts) in [
            ("[mcp.a]\n", &["mcp.a", "needs a `command`"][..]),
            (
                "[mcp.a]\ncommand = ['x']\nurl = 'http://h'\n",
                &["mcp.a", "not both"],
            ),
            (
                "[mcp.a]\ncommand = []\n",
                &["mcp.a", "a program and its arguments"],
            ),
            (
                "[mcp.a]\ncommand = 'x y'\n",
                &["\"mcp.a", "a program and its arguments"],
            ),
            (
                "[mcp.a]\nurl = 'https://ann:secret@h/mcp'\n",
                &["mcp.a", "before the @", "`token_env`"],
            ),
            (
                "[mcp.a]\nurl = 'h/mcp?token=secret'\n",
                &["mcp.a", "begins with https://"],
            ),
            (
                "[mcp.a]\ncomand = ['x']\n",
                &["mcp.a", "comand", "`command`"],
            ),
            (
                "[mcp.a]\ncommand = ['x']\ntoken_env = 'T'\n",
                &["mcp.a", "goes with a `url`"],
            ),
            (
                "[mcp.a]\nurl = 'http://h'\nenv = ['T']\n",
                &["mcp.a", "goes with a `command`"],
            ),
            (
                "[mcp.a]\nurl = 'h/mcp'\n",
                &["mcp.a", "begins with https://"],
            ),
            (
                "[mcp.a]\nurl = 'ftp://h'\n",
                &["mcp.a", "begins with https://"],
            ),
            (
                "[mcp.a]\ncommand = ['x']\ntimeout_s = 0\n",
                &["mcp.a", "1 to 86400 seconds"],
            ),
            (
                "[mcp.a]\ncommand = ['x']\nenv = ['A=secret']\n",
                &["mcp.a", "no name of a variable"],
            ),
            (
                "[mcp.'a.b']\ncommand = ['x']\n",
                &["a.b", "a name is 1 to 32"],
            ),
            (
                "[mcp.a]\ncommand = ['x']\n[tools.a]\nagent = 'b'\n",
                &["rename one"],
            ),
            ("[tools.a]\n", &["tools.a", "needs `agent = \"ID\"`"]),
            (
                "[tools.a]\nmcp = 'b'\n",
                &["tools.a", "both `mcp = \"SERVER\"` and"],
            ),
            (
                "[tools.a]\nagent = 'b'\ntool = 'c'\n",
                &["tools.a", "not both"],
            ),
            (
                "[tools.a]\nmcp = 'b'\ntool = 'c'\n",
                &["[tools.a]", "there is no [mcp.NAME]"],
            ),
            (
                "[mcp.web]\ncommand = ['x']\n[tools.a]\nmcp = 'wbe'\ntool = 'c'\n",
                &["[tools.a]", "did you mean `web`?"],
            ),
            ("[sop]\ndefault = true\n", &["sop", "default_orchestrator"]),
        ] {
            let error = load(file).expect_err(file).to_string();
            for part in parts {
                assert!(error.contains(part), "{part}: {error}");
            }
            assert!(
                !error.contains('\n') && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
