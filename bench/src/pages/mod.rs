//! Cost of the pages: what those that are open cost the hub, how soon a page is there, and how it does with many agents and tasks.
//!
//! `load.rs` keeps events coming, `filling.rs` makes agents and tasks, `mail.rs` reads what comes of both, `browser.rs` asks for pages as a
//! browser does, `listings.rs` times them with few agents and tasks and with many, `painting.rs` has a real browser say when it painted, and `figures.rs` holds what was measured against the goals.

mod browser;
mod figures;
mod filling;
mod listings;
mod load;
mod mail;
mod painting;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use tokio::time::sleep;

use self::{
    browser::{Browser, Open},
    figures::{Figure, Goal, median},
    filling::TOGETHER,
    listings::Times,
    load::Load,
};
use crate::{compare::server::Server, program};

/// Time for pages that were opened, and for the load, to be as they stay.
const SETTLE: Duration = Duration::from_secs(2);

/// Pages asked for to find out how soon one is there.
const ASKED: usize = 50;

/// Times that a real browser paints a page.
const PAINTED: usize = 11;

/// Agents and tasks with which those of many are compared: enough for full pages.
const FEW_AGENTS: usize = 1_000;
const FEW_TASKS: usize = 5_000;

/// Settings of `agenthub-bench pages`.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Program of the hub, if it is not beside this one.
    #[arg(long, value_name = "FILE")]
    hub_binary: Option<PathBuf>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Events that are published in a second.
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
    /// Pages that are open at once.
    #[arg(long, default_value_t = 200)]
    pages: usize,
    /// Agents in the directory.
    #[arg(long, default_value_t = 10_000)]
    agents: usize,
    /// Tasks that have ended.
    #[arg(long, default_value_t = 1_000_000)]
    tasks: usize,
    /// A Chromium that says when it first painted the overview.
    #[arg(long, value_name = "FILE")]
    browser: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Measures. Returns whether all goals are reached.
///
/// # Errors
///
/// The hub cannot be started, or does not answer.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir().context("a folder")?;
    let mut rng = fastrand::Rng::new();
    let (grpc, http) = (
        program::free_address(&mut rng)?,
        program::free_address(&mut rng)?,
    );
    let mut command = program::unset(&program::find(settings.hub_binary.as_deref())?);
    command.args(["broker", "--data", ".", "--log", "warn"]);
    fs::write(folder.path().join("agenthub.toml"), retention(&settings)).context("the settings")?;
    command.args(["--grpc", &grpc.to_string(), "--http", &http.to_string()]);
    let hub = Server::start(command, grpc, folder.path()).await?;
    let browser = Browser::new(http);
    let mut figures = Vec::new();

    figures.push(soon(&browser).await?);
    if let Some(program) = &settings.browser {
        figures.push(painted(program, http, folder.path()).await?);
    }
    figures.extend(open_pages(&settings, &hub, &browser).await?);
    let url = format!("http://{grpc}");
    let (mut agents, mut tasks) = (0, 0);
    let mut times: Vec<(String, Times)> = Vec::new();
    for (more_agents, more_tasks) in sizes(&settings) {
        filling::agents(&url, agents..more_agents).await?;
        filling::tasks(&url, tasks..more_tasks).await?;
        (agents, tasks) = (more_agents, more_tasks);
        quiet(&hub).await?;
        let number = format!("{agents} agents and {tasks} tasks");
        times.push((number, Times::measure(&browser, tasks).await?));
    }
    if let Some(((_, many), fewer)) = times.split_last() {
        figures.extend(many.figures(fewer));
    }
    figures.push(memory(&hub, &settings)?);
    // Open pages cost no more with all of them.
    figures.push(open_overview(&settings, &hub, &browser).await?);

    match settings.json {
        true => figures
            .iter()
            .for_each(|figure| println!("{}", figure.json())),
        false => println!("{}", figures::table(&figures)),
    }
    Ok(figures.iter().all(Figure::is_reached))
}

/// Numbers of agents and tasks with which pages are timed: few, a tenth of the tasks, and all.
fn sizes(settings: &Settings) -> Vec<(usize, usize)> {
    let few = (
        FEW_AGENTS.min(settings.agents),
        FEW_TASKS.min(settings.tasks),
    );
    let tenth = (settings.agents, settings.tasks / 10 / TOGETHER * TOGETHER);
    let all = (settings.agents, settings.tasks);
    let mut sizes = vec![few, tenth, all];
    sizes.retain(|size| *size == all || size.1 < all.1 && (*size == few || size.1 > few.1));
    sizes
}

/// Waits until the hub has written down what it got, as far as it is soon.
async fn quiet(hub: &Server) -> anyhow::Result<()> {
    const QUIET: f64 = 0.1;
    for _ in 0..60 {
        if share(hub, Duration::from_secs(1)).await? < QUIET {
            break;
        }
    }
    Ok(())
}

/// Memory of the hub with all agents and tasks.
fn memory(hub: &Server, settings: &Settings) -> anyhow::Result<Figure> {
    let Settings { agents, tasks, .. } = settings;
    let name = format!("memory with {agents} agents and {tasks} tasks");
    // Besides the hub alone 28 KiB for an agent, as one that is connected takes, and 2 KiB for a task, as PROMISES.md says.
    let kib = (100 << 10) + 28 * u64::try_from(*agents)? + 2 * u64::try_from(*tasks)?;
    let most = mib(kib << 10);
    Ok(Figure::new(
        &name,
        mib(hub.memory()?),
        Goal::Below(most, "MiB"),
    ))
}

/// Time to the first byte of a page, on a connection of its own.
async fn soon(browser: &Browser) -> anyhow::Result<Figure> {
    let mut slowest = Duration::ZERO;
    for _ in 0..ASKED {
        slowest = slowest.max(browser.first_byte("/").await?);
    }
    let goal = Goal::Below(100.0, "ms");
    Ok(Figure::new(
        "first byte of a page, the slowest of 50",
        millis(slowest),
        goal,
    ))
}

/// Settings by which the hub remembers all tasks.
fn retention(settings: &Settings) -> String {
    format!(
        "[ended_tasks]\nmost = {}\nmib = 8192\n",
        settings.tasks + 1_000
    )
}

/// Time of the first paint in a real browser.
async fn painted(program: &Path, http: SocketAddr, folder: &Path) -> anyhow::Result<Figure> {
    let url = format!("http://{http}/");
    let times = painting::first_paints(program, &url, folder, PAINTED).await?;
    Ok(Figure::new(
        "first paint of the overview in the browser, median",
        millis(median(times)),
        Goal::Below(100.0, "ms"),
    ))
}

/// Cost of the overview while it is open, with all agents and tasks.
async fn open_overview(
    settings: &Settings,
    hub: &Server,
    browser: &Browser,
) -> anyhow::Result<Figure> {
    let load = Load::start(&format!("http://{}", hub.address()), settings.rate).await?;
    sleep(SETTLE).await;
    let cost = cost(settings, hub, browser, "/").await?;
    load.stop().await?;
    Ok(Figure::new(
        &format!(
            "the same with {} agents and {} tasks",
            settings.agents, settings.tasks
        ),
        cost,
        Goal::Below(1.0, "% of a core"),
    ))
}

/// Share of a core that an open page costs, in percent.
async fn cost(
    settings: &Settings,
    hub: &Server,
    browser: &Browser,
    path: &str,
) -> anyhow::Result<f64> {
    let time = Duration::from_secs(settings.seconds);
    // Before and after, as what a load costs changes while it goes on.
    let before = share(hub, time).await?;
    let page = browser.open(path).await?;
    sleep(SETTLE).await;
    let with = share(hub, time).await?;
    page.check()?;
    drop(page);
    sleep(SETTLE).await;
    let after = share(hub, time).await?;
    Ok((with - f64::midpoint(before, after)) * 100.0)
}

/// Cost of an open page, and of many.
async fn open_pages(
    settings: &Settings,
    hub: &Server,
    browser: &Browser,
) -> anyhow::Result<Vec<Figure>> {
    let load = Load::start(&format!("http://{}", hub.address()), settings.rate).await?;
    sleep(SETTLE).await;
    let mut figures = Vec::new();
    for path in ["/", "/ui/tasks", "/ui/events"] {
        let name = format!("{path} open at {} events/s", settings.rate);
        let cost = cost(settings, hub, browser, path).await?;
        figures.push(Figure::new(&name, cost, Goal::Below(1.0, "% of a core")));
    }
    load.stop().await?;
    let before = hub.memory()?;
    let mut pages: Vec<Open> = Vec::new();
    for _ in 0..settings.pages {
        pages.push(browser.open("/").await?);
    }
    sleep(SETTLE).await;
    for page in &pages {
        page.check()?;
    }
    let bytes = hub.memory()?.saturating_sub(before);
    let name = format!("memory of {} pages that are open", settings.pages);
    let goal = Goal::Below(200.0, "MiB");
    figures.push(Figure::new(&name, mib(bytes), goal));
    Ok(figures)
}

/// Share of a core that the hub uses over this time.
async fn share(hub: &Server, time: Duration) -> anyhow::Result<f64> {
    let began = tokio::time::Instant::now();
    let before = hub.cpu()?;
    sleep(time).await;
    let used = hub.cpu()?.saturating_sub(before);
    Ok(used.as_secs_f64() / began.elapsed().as_secs_f64())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "of what is shown")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
