//! Exit codes, roles and words of the commands.
mod common;

use common::World;
use serde_json::json;

#[test]
fn a_first_start_has_a_conversation_an_agent_and_two_tools() {
    let world = World::serving();
    let inventory = world.ask(&["agent", "tools"]);
    assert_eq!(inventory["kind"], "inventory");
    let tools: Vec<&str> =
        inventory["tools"].as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap()).collect();
    assert_eq!(tools, ["pomodoro.interrupt", "pomodoro.start"]);
    assert!(inventory["tools"][0].get("executor").is_none(), "INV-10");
}

#[test]
fn inv_7_a_restart_keeps_the_revision_and_seeds_nothing_again() {
    let mut world = World::serving();
    let before = world.ask(&["agent", "tools"])["revision"].clone();
    assert_eq!(world.stop(), 0);
    world.serve();
    assert_eq!(world.ask(&["agent", "tools"])["revision"], before);
    assert_eq!(world.rows("inventories"), 1);
}

#[test]
fn h103_a_second_runtime_on_the_same_folder_is_refused_in_one_sentence() {
    let world = World::serving();
    let output = world.words(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("is in use by process") && said.contains("choose another folder with --data"), "{said}");
}

#[test]
fn an_address_in_use_is_answered_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = World::empty().words(&["serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("choose another address with --listen"), "{said}");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let output = World::empty().words(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("not a loopback address"));
}

#[test]
fn without_a_runtime_every_role_says_how_to_start_one() {
    let world = World::empty();
    for command in [
        &["agent", "tools"][..],
        &["user", "say", "hello"],
        &["host", "attach"],
        &["host", "intent", "back"],
        &["inspect", "status"],
        &["clock", "advance", "1s"],
        &["trace", "c1"],
    ] {
        let output = world.words(command);
        assert_eq!(output.status.code(), Some(4), "{command:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("start one with `lineup serve --data"), "{command:?}: {said}");
    }
}

#[test]
fn a_runtime_that_was_killed_is_found_gone() {
    let mut world = World::serving();
    world.kill();
    for command in [&["agent", "tools"][..], &["inspect", "status"]] {
        let (code, lines) = world.run(command);
        assert_eq!((code, &lines[0]["error"]), (4, &json!("unreachable")), "{command:?}");
    }
}

#[test]
fn a_clean_stop_leaves_no_trace_of_the_process() {
    let mut world = World::serving();
    let running = world.path().join("runtime.json");
    assert!(running.exists());
    assert_eq!(world.stop(), 0);
    assert!(!running.exists());
}

#[cfg(unix)]
#[test]
fn ent_5_what_names_the_process_and_its_credentials_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::serving();
    for file in ["runtime.json", "credentials.json"] {
        let mode = std::fs::metadata(world.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn call_7_a_refused_call_has_its_code_and_exit_code_three() {
    let world = World::serving();
    for (arguments, code) in [
        (&["agent", "call", "pomodoro.dance"][..], "tool_not_advertised"),
        (&["agent", "call", "pomodoro.start", "{}"], "tool_input_invalid"),
        (&["agent", "call", "pomodoro.start", r#"{"minutes": 0}"#], "tool_input_invalid"),
        (&["agent", "call", "pomodoro.start", r#"{"minutes": 20, "owner": "me"}"#], "tool_input_invalid"),
        (
            &["agent", "call", "pomodoro.start", r#"{"minutes": 20}"#, "--conversation", "nowhere"],
            "conversation_not_found",
        ),
        (&["agent", "status", "nobody"], "call_not_found"),
        (&["agent", "tools", "--as", "stranger"], "credential_unknown"),
    ] {
        let (exit, lines) = world.run(arguments);
        let last = lines.last().unwrap();
        assert_eq!(
            (exit, &last["kind"], &last["code"]),
            (3, &json!("refused"), &json!(code)),
            "{arguments:?}: {lines:?}"
        );
    }
    assert_eq!(world.rows("calls"), 0);
}

#[test]
fn inv_8_a_call_with_another_revision_is_refused_with_the_current_one() {
    let world = World::serving();
    let current = world.ask(&["agent", "tools"])["revision"].clone();
    let stale = current.as_str().unwrap().chars().rev().collect::<String>();
    let stale = format!("{}{}", &current.as_str().unwrap()[..7], &stale[..current.as_str().unwrap().len() - 7]);
    let (code, lines) = world.run(&["agent", "call", "pomodoro.start", r#"{"minutes": 20}"#, "--revision", &stale]);
    assert_eq!((code, &lines[0]["code"]), (3, &json!("inventory_revision_mismatch")), "{lines:?}");
    assert_eq!(lines[0]["current_revision"], current);
}

#[test]
fn a_command_line_that_is_wrong_has_exit_code_two() {
    let world = World::serving();
    for arguments in [
        &["agent", "call", "pomodoro.start", "{"][..],
        &["agent", "call", "pomodoro.start", r#"{"minutes": 20, "minutes": 5}"#],
        &["agent", "call", "pomodoro.start", "--revision", "x"],
        &["agent", "call", "pomodoro.start", "--call-id", "a b"],
        &["agent", "tools", "--as", "a b"],
        &["clock", "advance", "20"],
        &["dance"],
    ] {
        assert_eq!(world.words(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn uia_1_what_the_user_says_reaches_the_agent() {
    let world = World::serving();
    let mut agent = world.start(&["agent", "watch"]);
    agent.until(|line| line["kind"] == "watching");
    world.ask(&["user", "say", "Help me focus"]);
    let text = agent.until(|line| line["kind"] == "text");
    assert_eq!((&text["text"], &text["conversation"]), (&json!("Help me focus"), &json!("main")));
}

#[test]
fn dur_5_a_call_is_traced_from_its_acceptance_to_its_end() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = world.start(&["agent", "call", "pomodoro.start", r#"{"minutes": 20}"#, "--call-id", "c1"]);
    call.until(|line| line["stage"] == "started");
    world.ask(&["clock", "advance", "20m"]);
    call.until(|line| line["kind"] == "outcome");
    let output = world.words(&["trace", "c1"]);
    let story = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{story}");
    for words in ["pomodoro.start", "by agent demo in main", "starting", "started", "completed", "+1200.000 s"] {
        assert!(story.contains(words), "{words}: {story}");
    }
    assert_eq!(world.run(&["trace", "nobody"]).0, 3);
}

#[test]
fn every_look_has_an_answer() {
    let world = World::serving();
    for what in ["calls", "operations", "instances", "focus", "outbox", "audit", "sessions", "inventories"] {
        assert!(world.ask(&["inspect", what])["rows"].is_array(), "{what}");
    }
    assert_eq!(world.ask(&["inspect", "status"])["store"], "serving");
}

#[test]
fn another_agent_is_enrolled_and_put_into_a_conversation() {
    let world = World::serving();
    world.ask(&["setup", "agent", "second"]);
    world.ask(&["setup", "conversation", "main", "--title", "Main", "--agent", "demo", "--agent", "second"]);
    let tools = world.ask(&["agent", "tools", "--as", "second"]);
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
}

#[test]
fn doctor_finds_a_served_folder_well_and_an_exposed_one_not() {
    let world = World::serving();
    let (code, checks) = world.run(&["doctor"]);
    assert_eq!(code, 0, "{checks:?}");
    let names: Vec<&str> = checks.iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(names, ["data folder", "credentials", "database", "runtime", "workspace", "clock"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let path = world.path().join("credentials.json");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let (code, checks) = world.run(&["doctor"]);
        assert_eq!((code, &checks[1]["ok"]), (1, &json!(false)), "{checks:?}");
    }
}

#[test]
fn a_command_without_what_it_needs_prints_its_help_also_when_the_folder_is_in_the_environment() {
    let world = World::empty();
    for arguments in [&[][..], &["agent"], &["inspect"]] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_lineup"))
            .args(arguments)
            .env("LINEUP_DATA", world.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("Commands:") && said.contains("[env: LINEUP_DATA]"), "{arguments:?}: {said}");
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_lineup"))
        .args(["doctor", "--json"])
        .env("LINEUP_DATA", world.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains(world.path().to_str().unwrap()));
}

#[test]
fn a_refusal_says_where_and_what_to_do_next() {
    let world = World::serving();
    for (arguments, expected) in [
        (
            &["agent", "call", "pomodoro.start", r#"{"minutes": "20"}"#][..],
            &["(at /minutes)", "lineup agent tools"][..],
        ),
        (&["agent", "call", "pomodoro.dance"], &["lineup agent tools"]),
        (&["agent", "call", "pomodoro.start", "minutes=20"], &[r#"'{"minutes": 20}'"#]),
        (&["agent", "tools", "--conversation", "nowhere"], &["lineup setup conversation"]),
        (&["serve", "--listen", "7311"], &["127.0.0.1:7311"]),
    ] {
        let said = String::from_utf8(world.words(arguments).stderr).unwrap();
        assert!(expected.iter().all(|words| said.contains(words)), "{arguments:?}: {said}");
    }
}

#[test]
fn help_teaches_with_examples_and_hides_the_manual_clock() {
    let world = World::empty();
    let help = String::from_utf8(world.words(&["--help"]).stdout).unwrap();
    for words in ["lineup agent call pomodoro.start", "Exit codes:", "host", "doctor"] {
        assert!(help.contains(words), "{words}");
    }
    assert!(!help.contains("clock advance"));
}

#[test]
fn h102_a_damaged_database_is_refused_named_and_left_as_it_is() {
    let mut world = World::serving();
    assert_eq!(world.stop(), 0);
    let database = world.path().join("lineup.sqlite");
    std::fs::write(&database, b"not a database, but somebody's words").unwrap();
    let output = world.words(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("lineup.sqlite"), "{said}");
    assert_eq!(std::fs::read(&database).unwrap(), b"not a database, but somebody's words");
    let (code, checks) = world.run(&["doctor"]);
    assert_eq!((code, &checks[2]["check"], &checks[2]["ok"]), (1, &json!("database"), &json!(false)), "{checks:?}");
}

#[cfg(unix)]
#[test]
fn ent_5_credentials_that_others_can_read_are_refused_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = World::serving();
    assert_eq!(world.stop(), 0);
    let path = world.path().join("credentials.json");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = world.words(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("chmod 600"), "{said}");
}

#[test]
fn the_ready_line_is_all_that_serve_prints_for_machines() {
    let mut world = World::empty();
    let ready = world.serve();
    let names: Vec<&str> = ready.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["clock", "data", "link", "listen", "pid", "ready"]);
    assert_eq!(ready["clock"], "manual");
    assert_eq!(ready["data"], world.path().to_str().unwrap());
}

#[test]
fn a_clock_that_is_the_machines_own_is_not_advanced() {
    let world = World::empty();
    let mut serving = world.start(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(serving.line()["clock"], "system");
    let (code, lines) = world.run(&["clock", "advance", "1s"]);
    assert_eq!((code, &lines[0]["reason"]), (3, &json!("clock_not_manual")), "{lines:?}");
}
