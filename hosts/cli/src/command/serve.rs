//! Runs the Runtime: the one place that joins the adapters.

use std::{io::ErrorKind, process::ExitCode, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::serve::ListenerExt as _;
use lineup_adapters::{
    inprocess::InProcess,
    relay::{self, Counts, Credentials, OpenError, Relay, Role},
    sql::SqliteStore,
    web::{Entries, SurfaceFile, Tokens, WebAdapter},
    websocket::WebSocketTransport,
};
use lineup_agent::{Agent, Options};
use lineup_core::{policy::Conversation, workspace::input::Setup};
use lineup_failpoint::{Point, hit};
use lineup_model::{AgentId, ConversationId, message::Fault};
use lineup_ports::{
    inbound::{Inspect, InspectQuery, SetUp as _},
    outbound::{Clock, Store, StoreErrorKind},
};
use lineup_runtime::Runtime;
use lineup_sdk::Bundle;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    args::{ClockKind, Serve},
    clock::{ManualClock, SystemClock},
    command::link,
    data::{DataDir, Running},
    failure::{Failure, with_causes},
    print::Printer,
};

/// The conversation and the agent of a first start.
const DEMO: (&str, &str) = ("main", "demo");

pub async fn run(data: &DataDir, serve: Serve, printer: &Printer) -> Result<ExitCode, Failure> {
    if !serve.listen.ip().is_loopback() {
        return Err(Failure::Usage(format!(
            "{} is not a loopback address; credentials cross in the clear, so listen on 127.0.0.1 or [::1]",
            serve.listen
        )));
    }
    let bundles = bundles(&serve.without)?;
    // Before anybody can know that this process is there.
    let stop = told_to_stop()?;
    data.create()?;
    let demo = AgentId::new(DEMO.1).expect("a plain word is a well-formed id");
    let mut credentials = Credentials::load_or_create(data.path())?;
    let has_demo = credentials.token(&Role::Agent(demo.clone())).is_some();
    if credentials.agents().next().is_none() || serve.demo_agent && !has_demo {
        credentials.enrol(&demo)?;
    }
    let relay = Relay::open(data.path()).await.map_err(|error| in_use(data, error))?;
    hit(Point::ServeRelayOpened);
    let listener = listen(&serve).await?;
    let address = listener.local_addr().map_err(|error| Failure::Unusable(error.to_string()))?;
    let store = SqliteStore::open(data.path()).await.map_err(|error| {
        if error.kind == StoreErrorKind::Owned { occupied(data) } else { Failure::Unusable(with_causes(&error)) }
    })?;

    hit(Point::ServeStoreOpened);
    let token = |role| credentials.token(&role).map(|token| token.as_str().to_owned()).unwrap_or_default();
    let tokens = Tokens::new(token(Role::Host), token(Role::User), token(Role::Owner), token(Role::Page))
        .map_err(|error| Failure::Unusable(error.to_string()))?;
    let web = WebAdapter::new(tokens)
        .with_presence(relay.presence())
        .with_surface_files(surface_files(&bundles))
        .with_link_command(&link::command(data));
    let (clock, web): (Arc<dyn Clock>, _) = match serve.clock {
        ClockKind::System => (Arc::new(SystemClock::new()), web),
        ClockKind::Manual => {
            eprintln!(
                "lineup: WARNING: --clock manual: time stands still here until `lineup clock advance`; for tests only"
            );
            let clock = Arc::new(ManualClock::new());
            (clock.clone(), web.with_manual_clock(clock))
        }
    };

    let router = relay.router().merge(web.router());
    // Small frames wait for each other otherwise, 40 ms at a time.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let transport = WebSocketTransport::to(format!("ws://{address}{}", relay::PATH), token(Role::Runtime));
    let runtime = Runtime::builder()
        .store(Arc::new(store) as Arc<dyn Store>)
        .transport(Arc::new(transport))
        .hosts(web.hosts())
        .surfaces(web.surfaces())
        .miniapps(Arc::new(InProcess::bundles(bundles)))
        .clock(clock.clone())
        .start()
        .await?;
    seed(&runtime, &demo).await?;
    let handle = Arc::new(runtime.clone());
    let inspect = Arc::new(Looking { runtime: runtime.clone(), relay: relay.counts() });
    web.attach(Entries {
        hosts: handle.clone(),
        actions: handle.clone(),
        setup: handle.clone(),
        conversations: handle,
        inspect,
    });
    hit(Point::ServeAttached);
    let talking = serve.demo_agent.then(|| {
        let url = format!("ws://{address}{}", relay::PATH);
        tokio::spawn(talk(url, token(Role::Agent(demo.clone())), clock)).abort_handle()
    });

    let clock = match serve.clock {
        ClockKind::System => "system",
        ClockKind::Manual => "manual",
    };
    data.announce(&Running { pid: std::process::id(), listen: address.to_string(), clock: clock.to_owned() })?;
    let made = web.link().map_err(|error| Failure::Broken(format!("no link can be made: {error}")))?;
    let link = link::address(&address.to_string(), &made.path);
    let ready = json!({
        "ready": true, "listen": address.to_string(), "data": data.path(), "pid": std::process::id(), "clock": clock,
        "link": link,
    });
    printer.say(&ready, || {
        let then = match talking {
            Some(_) => "Then type: start a 20 minute focus",
            None => "No agent is running here; `--demo-agent` starts one, `lineup agent` plays one.",
        };
        format!(
            "{} on {address}, data in {}\n\nOpen this in a browser; it is good once, for {} minutes:\n  {}\n{then}\n\n\
             Another link: {}",
            printer.strong("LineUp is ready"),
            data.path().display(),
            made.good_for.as_secs() / 60,
            printer.strong(&link),
            link::command(data),
        )
    });

    stop.await;
    printer.words("Stopping: what is under way is kept.");
    if let Some(talking) = talking {
        talking.abort();
    }
    data.withdraw();
    web.close();
    runtime.stop().await;
    relay.close().await;
    server.abort();
    Ok(ExitCode::SUCCESS)
}

/// The demo agent, with its own credential at the relay, as if it were elsewhere.
async fn talk(url: String, token: String, clock: Arc<dyn Clock>) {
    let conversation = ConversationId::new(DEMO.0).expect("a plain word is a well-formed id");
    match Agent::connect_listening(Options::new(url, token)).await {
        Ok(agent) => {
            let now = move || Duration::from_millis(clock.read().boot_ms);
            lineup_demo_agent::run(agent, conversation, now).await;
            tracing::warn!("the demo agent's connection has ended");
        }
        Err(error) => tracing::warn!(%error, "the demo agent could not connect"),
    }
}

/// The documents of their Surfaces.
fn surface_files(bundles: &[Bundle]) -> Vec<SurfaceFile> {
    let file = |bundle: &Bundle, (surface, html): (&str, &str)| SurfaceFile {
        app_scope: bundle.app_scope().to_owned(),
        surface: surface.to_owned(),
        html: html.to_owned(),
    };
    bundles.iter().flat_map(|bundle| bundle.documents().iter().map(|found| file(bundle, *found))).collect()
}

/// The MiniApps of this host, without those that are left out.
fn bundles(without: &[String]) -> Result<Vec<Bundle>, Failure> {
    let mut bundles = vec![lineup_pomodoro::bundle(), lineup_interact::bundle()];
    for app in without {
        // Its context holds what agents and the user say to each other.
        if app == lineup_interact::bundle().app_scope() {
            return Err(Failure::Usage(format!("`{app}` cannot be left out: conversations live in it")));
        }
        let before = bundles.len();
        bundles.retain(|bundle| bundle.app_scope() != app);
        if bundles.len() == before {
            return Err(Failure::Usage(format!("there is no MiniApp `{app}` to leave out")));
        }
    }
    Ok(bundles)
}

/// Looks into the workspace, and into the relay beside it.
struct Looking {
    runtime: Runtime,
    relay: Counts,
}

#[async_trait]
impl Inspect for Looking {
    async fn inspect(&self, query: InspectQuery) -> Result<Value, Fault> {
        let is_status = query == InspectQuery::Status;
        let mut answer = self.runtime.inspect(query).await?;
        if is_status {
            answer["relay"] = json!(self.relay.stats());
        }
        Ok(answer)
    }
}

async fn listen(serve: &Serve) -> Result<TcpListener, Failure> {
    TcpListener::bind(serve.listen).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Failure::Unusable(format!(
            "{} is in use by another program; choose another address with --listen, such as --listen {}:0 for any free port",
            serve.listen,
            serve.listen.ip()
        )),
        _ => Failure::Unusable(format!("{} cannot be listened on: {error}", serve.listen)),
    })
}

fn in_use(data: &DataDir, error: OpenError) -> Failure {
    match error {
        OpenError::InUse { .. } => occupied(data),
        other => other.into(),
    }
}

fn occupied(data: &DataDir) -> Failure {
    let who = data.running().map_or_else(
        |_| "another process".to_owned(),
        |running| format!("process {} on {}", running.pid, running.listen),
    );
    Failure::Unusable(format!(
        "the data folder {} is in use by {who}; stop that one, or choose another folder with --data",
        data.path().display()
    ))
}

/// Gives a workspace in which no agent is in any conversation something to begin with.
async fn seed(runtime: &Runtime, demo: &AgentId) -> Result<(), Failure> {
    let inventories = runtime.inspect(InspectQuery::Inventories).await?;
    if inventories["rows"].as_array().is_some_and(|rows| !rows.is_empty()) {
        return Ok(());
    }
    let id = ConversationId::new(DEMO.0).expect("a plain word is a well-formed id");
    let conversation = Conversation { id, title: "Main".to_owned(), agents: [demo.clone()].into() };
    Ok(runtime.set_up(Setup::Conversation(conversation)).await?)
}

/// Listens from now on for Ctrl-C and for the system's polite word; the future resolves at the first.
#[cfg(unix)]
fn told_to_stop() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let hear = |kind| signal(kind).map_err(|error| Failure::Broken(format!("signals cannot be heard: {error}")));
    let (mut interrupted, mut terminated) = (hear(SignalKind::interrupt())?, hear(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// Listens from now on for Ctrl-C.
#[cfg(not(unix))]
fn told_to_stop() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        let _told = tokio::signal::ctrl_c().await;
    })
}
