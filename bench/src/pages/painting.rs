//! A Chromium that paints a page, asked over the pipe of its DevTools protocol when it did.

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// Deadline of the browser's answers.
const DEADLINE: Duration = Duration::from_secs(20);

/// Hands the pipes to the browser where it looks for them: reads of descriptor 3, writes to 4.
const PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// The time at which the page was painted, in milliseconds since it was asked for; nothing before it was.
const PAINTED: &str = "performance.getEntriesByName('first-contentful-paint').map(paint => paint.startTime)[0] ?? null";

/// Times from asking for a page to its first paint, each in a new page without a cache, in a browser that runs already.
///
/// # Errors
///
/// The browser cannot be started, or does not answer.
pub(super) async fn first_paints(
    program: &Path,
    url: &str,
    folder: &Path,
    times: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut browser = Chromium::start(program, folder)?;
    let mut paints = Vec::new();
    // The first page also starts the process that paints.
    for n in 0..=times {
        let paint = timeout(DEADLINE, browser.first_paint(url)).await;
        let paint = paint.context("the browser painted nothing")??;
        if n > 0 {
            paints.push(paint);
        }
    }
    Ok(paints)
}

struct Chromium {
    _child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
}

impl Chromium {
    fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new("sh")
            .args(["-c", PIPES])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .arg("--remote-debugging-pipe")
            .arg(format!(
                "--user-data-dir={}",
                folder.join("browser").display()
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting a browser")?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the browser has no pipes");
        };
        Ok(Self {
            _child: child,
            to,
            from: BufReader::new(from),
            calls: 0,
        })
    }

    async fn first_paint(&mut self, url: &str) -> anyhow::Result<Duration> {
        let made = self
            .call(None, "Target.createTarget", json!({"url": "about:blank"}))
            .await?;
        let target = &made["targetId"];
        let attached = json!({"targetId": target, "flatten": true});
        let attached = self.call(None, "Target.attachToTarget", attached).await?;
        let session = attached["sessionId"].as_str().map(str::to_owned);
        let of = session.as_deref();
        self.call(of, "Network.enable", json!({})).await?;
        let uncached = json!({"cacheDisabled": true});
        self.call(of, "Network.setCacheDisabled", uncached).await?;
        self.call(of, "Page.navigate", json!({"url": url})).await?;
        let painted = loop {
            let asked = json!({"expression": PAINTED, "returnByValue": true});
            let answer = self.call(of, "Runtime.evaluate", asked).await?;
            if let Some(painted) = answer["result"]["value"].as_f64() {
                break painted;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        self.call(None, "Target.closeTarget", json!({"targetId": target}))
            .await?;
        Ok(Duration::from_secs_f64(painted / 1e3))
    }

    /// Calls a method of the protocol, and returns its result. Events meanwhile are of no interest.
    async fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> anyhow::Result<Value> {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = session {
            call["sessionId"] = session.into();
        }
        // Messages end with a zero.
        self.to.write_all(format!("{call}\0").as_bytes()).await?;
        loop {
            let mut message = Vec::new();
            if self.from.read_until(0, &mut message).await? == 0 {
                bail!("the browser has ended");
            }
            message.pop();
            let message: Value = serde_json::from_slice(&message)?;
            if message["id"] != self.calls {
                continue;
            }
            match message.get("error") {
                Some(error) => bail!("{method}: {error}"),
                None => return Ok(message["result"].clone()),
            }
        }
    }
}
