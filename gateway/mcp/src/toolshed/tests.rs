use std::fs;

use serde::Deserialize;

use super::*;

/// An MCP server of a few lines. It lists its arguments as tools.
const SERVER: &str = r#"
tools=""
for name in "$@"; do tools="$tools${tools:+,}{\"name\":\"$name\",\"description\":\"It is $name\",\"inputSchema\":{\"type\":\"object\"}}"; done
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}';;
    *'"tools/list"'*) result="{\"tools\":[$tools]}";;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// The tables of a settings file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tables {
    mcp: Servers,
    tools: Names,
}

/// Settings with servers, by their names and tools, and further lines.
struct World {
    _folder: tempfile::TempDir,
    settings: Tables,
}

impl World {
    fn new(servers: &[(&str, &[&str])], more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = folder.path().join("server.sh");
        fs::write(&script, SERVER).expect("a file");
        let script = script.display().to_string();
        let table = |(name, tools): &(&str, &[&str])| {
            let line = [&["sh", script.as_str()], *tools].concat();
            format!("[mcp.{name}]\ncommand = {line:?}\n")
        };
        let servers: String = servers.iter().map(table).collect();
        let file = format!("{servers}{more}");
        let settings = toml::from_str(&file).expect("these settings are right");
        Self {
            _folder: folder,
            settings,
        }
    }

    fn toolshed(&self) -> Toolshed {
        Toolshed::new(&self.settings.mcp, &self.settings.tools)
    }

    async fn resolve(&self, names: &[&str]) -> Result<Resolved, Vec<String>> {
        let toolshed = self.toolshed();
        let resolved = toolshed.resolve(names).await;
        toolshed.close().await;
        resolved.map_err(|unknown| {
            let told =
                |u: Unknown| format!("{}: {}; {}", u.name, u.why, u.help.unwrap_or_default());
            unknown.into_iter().map(told).collect()
        })
    }

    async fn tools(&self, names: &[&str]) -> Vec<String> {
        let resolved = self.resolve(names).await.expect("they are known");
        resolved.tools.iter().map(|t| t.name().to_owned()).collect()
    }
}

/// spec: SOP-1.4
#[tokio::test]
async fn a_name_is_a_server_one_of_its_tools_or_what_the_settings_call_so() {
    let more =
        "[tools.find]\nmcp = 'web'\ntool = 'search'\n[tools.translate]\nagent = 'translator'\n";
    let world = World::new(&[("web", &["search", "fetch"]), ("files", &["read"])], more);
    let toolshed = world.toolshed();
    assert_eq!(toolshed.names(), ["files", "find", "translate", "web"]);
    assert!(
        ["files", "web.fetch", "find", "translate"]
            .iter()
            .all(|name| toolshed.knows(name))
    );
    assert!(
        !["file", "web.", "translate.x", ""]
            .iter()
            .any(|name| toolshed.knows(name))
    );
    assert_eq!(toolshed.agent("translate"), Some("translator"));
    assert_eq!(toolshed.longest(), Some(Duration::from_secs(35)));

    assert_eq!(world.tools(&["web"]).await, ["web_search", "web_fetch"]);
    assert_eq!(
        world.tools(&["files.read", "web.fetch"]).await,
        ["files_read", "web_fetch"]
    );
    let named = world
        .resolve(&["find", "translate", "translate"])
        .await
        .expect("known");
    assert_eq!(named.tools[0].name(), "find");
    assert_eq!(named.tools[0].description(), "It is search");
    assert_eq!(named.agents, ["translator"]);
    assert_eq!(
        world.tools(&["web", "web.search"]).await,
        ["web_search", "web_fetch"]
    );
    assert_eq!(world.tools(&[]).await, [""; 0]);
}

/// All of them at once, with what to do.
///
/// spec: SOP-1.4, SOP-1.5
#[tokio::test]
async fn what_is_not_known_is_an_error_that_says_what_is() {
    let world = World::new(&[("web", &["search", "fetch"]), ("empty", &[])], "");
    let error = world
        .resolve(&[
            "wab",
            "web.serch",
            "web.zzz",
            "wbe.fetch",
            "mail",
            "web",
            "empty",
        ])
        .await;
    assert_eq!(
        error.expect_err("they are wrong"),
        [
            "wab: the settings define no tool `wab`; did you mean `web`?",
            "web.serch: the MCP server web has no tool `serch`; did you mean `web.search`?",
            "web.zzz: the MCP server web has no tool `zzz`; it has `search`, `fetch`",
            "wbe.fetch: the settings define no tool `wbe.fetch`; did you mean `web.fetch`?",
            "mail: the settings define no tool `mail`; the settings define `empty`, `web`",
            "empty: the MCP server empty offers no tools; ",
        ]
    );
    let none = World::new(&[], "")
        .resolve(&["web"])
        .await
        .expect_err("there is none");
    assert!(
        none[0].contains("add [mcp.NAME] for an MCP server"),
        "{none:?}"
    );
}

/// spec: SOP-1.5
#[tokio::test]
async fn a_server_that_cannot_be_used_is_named_with_the_reason() {
    let more = "[mcp.gone]\ncommand = ['no-such-program']\n";
    let world = World::new(&[("web", &["search"])], more);
    let error = world
        .resolve(&["web", "gone"])
        .await
        .expect_err("it is not there");
    assert_eq!(error.len(), 1);
    for part in [
        "gone: the MCP server gone cannot be used",
        "no-such-program",
        "[mcp.gone]",
    ] {
        assert!(error[0].contains(part), "{error:?}");
    }
}

#[tokio::test]
async fn no_more_than_a_model_is_offered_and_no_two_of_one_name() {
    let names: Vec<String> = (0..70).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let world = World::new(&[("many", &names), ("a_b", &["c"]), ("a", &["b_c"])], "");
    let error = world.resolve(&["a", "many"]).await.expect_err("too many");
    assert!(
        error[0].starts_with(
            "many: these are 71 tools, and a model is offered 64 at most; instead of `many`"
        ),
        "{error:?}"
    );
    assert_eq!(world.tools(&["many.t1"]).await, ["many_t1"]);
    let error = world.resolve(&["a_b", "a"]).await.expect_err("they clash");
    assert!(error[0].contains("would both be called a_b_c"), "{error:?}");
}

#[test]
fn the_closest_name_is_close() {
    let known = || ["search", "fetch", "files"].into_iter();
    assert_eq!(closest("serch", known()), Some("search"));
    assert_eq!(closest("FETCH", known()), Some("fetch"));
    assert_eq!(closest("mail", known()), None);
    assert_eq!(closest("wbe", ["db", "web"].into_iter()), Some("web"));
    assert_eq!(closest("a", ["b"].into_iter()), None);
    let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let told = shown(names.iter().map(String::as_str));
    assert!(told.ends_with("`11` and 8 more"), "{told}");
}
