//! Checks the data folder and the machine. Reads only.

use std::{fs::File, process::ExitCode};

use lineup_adapters::relay::{CREDENTIALS_FILE, Credentials};
use lineup_ports::outbound::Clock as _;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::{
    clock::SystemClock,
    command::owner,
    data::DataDir,
    failure::{ENDED_OTHERWISE, Failure, with_causes},
    print::{Printer, plain},
};

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    fine: bool,
    words: String,
}

pub async fn run(data: &DataDir, printer: &Printer) -> Result<ExitCode, Failure> {
    let mut findings = vec![folder(data), credentials(data), database(data)];
    findings.extend(running(data).await);
    findings.push(clock());
    let mut fine = true;
    for Finding { what, fine: ok, words } in &findings {
        fine &= ok;
        let mark = if *ok { "ok" } else { "not ok" };
        printer.say(&json!({ "kind": "check", "check": what, "ok": ok, "message": words }), || {
            format!("{mark:>6}  {}: {words}", printer.strong(what))
        });
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::from(ENDED_OTHERWISE) })
}

fn folder(data: &DataDir) -> Finding {
    let path = data.path();
    let (fine, words) = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => (true, path.display().to_string()),
        Ok(_) => (false, format!("{} is not a folder; choose another with --data", path.display())),
        Err(_) => (true, format!("{} is not there yet; `lineup serve` makes it", path.display())),
    };
    Finding { what: "data folder", fine, words }
}

fn credentials(data: &DataDir) -> Finding {
    let path = data.path().join(CREDENTIALS_FILE);
    let (fine, words) = if path.exists() {
        match Credentials::load(&path) {
            Ok(found) => (true, format!("only their owner can read them; {} agent(s)", found.agents().count())),
            Err(error) => (false, with_causes(&error)),
        }
    } else {
        (true, "none yet; the first `lineup serve` makes them".to_owned())
    };
    Finding { what: "credentials", fine, words }
}

/// Whether the file begins as an SQLite database does.
fn database(data: &DataDir) -> Finding {
    let path = data.path().join("lineup.sqlite");
    let mut head = [0; 16];
    let (fine, words) = match File::open(&path) {
        Err(_) => (true, "none yet".to_owned()),
        Ok(mut file) => match std::io::Read::read_exact(&mut file, &mut head) {
            Ok(()) if head == *b"SQLite format 3\0" => (true, path.display().to_string()),
            _ => (false, format!("{} is not an SQLite database; put it aside, nothing overwrites it", path.display())),
        },
    };
    Finding { what: "database", fine, words }
}

async fn running(data: &DataDir) -> Vec<Finding> {
    let Ok(running) = data.running() else {
        let usual = TcpListener::bind("127.0.0.1:7310").await;
        let words = match &usual {
            Ok(_) => "none is running; 127.0.0.1:7310 is free".to_owned(),
            Err(_) => {
                "none is running, and 127.0.0.1:7310 is in use; start it with `lineup serve --listen 127.0.0.1:0`"
                    .to_owned()
            }
        };
        return vec![Finding { what: "runtime", fine: true, words }];
    };
    let place = format!("process {} on {}, {} clock", running.pid, running.listen, running.clock);
    if TcpStream::connect(&running.listen).await.is_err() {
        let words = format!("{place}: does not answer; it was killed, and `lineup serve` takes over where it stopped");
        return vec![Finding { what: "runtime", fine: false, words }];
    }
    let mut findings = vec![Finding { what: "runtime", fine: true, words: place }];
    findings.push(match owner::look(data, json!({ "inspect": "status" })).await {
        Ok(status) => Finding {
            what: "workspace",
            fine: status["store"] == "serving",
            words: format!(
                "the store is {}; {} open call(s), {} Host(s)",
                plain(&status["store"]),
                status["open_calls"],
                status["hosts"].as_array().map_or(0, Vec::len)
            ),
        },
        Err(failure) => Finding { what: "workspace", fine: false, words: failure.to_string() },
    });
    findings
}

fn clock() -> Finding {
    let reading = SystemClock::new().read();
    let (fine, words) = if reading.boot.starts_with("process-") {
        (true, "the system does not name its boots; across a restart the wall clock counts".to_owned())
    } else {
        (true, format!("boot {}, {} s ago, sleep included", reading.boot, reading.boot_ms / 1000))
    };
    Finding { what: "clock", fine, words }
}
