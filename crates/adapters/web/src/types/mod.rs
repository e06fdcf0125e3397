//! The page's types: TypeScript from the frames of `/page`, `/host` and `/user`.
//!
//! Only tests build this, so no program carries it. `cargo xtask ui types` writes the file, and
//! every test run checks that it is what the frames say.

#![allow(dead_code, reason = "only what is written of them is looked at")]

mod up;
mod views;

use std::{fs, path::Path};

use ts_rs::{Config, TS};

use crate::page::frames;

/// Where the page has them.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../ui/shell/src/generated/frames.ts");
/// Set: the file is written instead of checked.
const WRITE: &str = "LINEUP_WRITE_TYPES";

const HEAD: &str =
    "// Generated from crates/adapters/web by `cargo xtask ui types`. Do not edit: change the frames there.
// Numbers are whole; places and moments fit into a JavaScript number.
";

fn text() -> String {
    let config = Config::default().with_large_int("number");
    let mut text = HEAD.to_owned();
    macro_rules! declare {
        ($($title:literal: $($type:ty),*;)*) => {$(
            text.push_str(concat!("\n// ", $title, "\n"));
            $(
                text.push('\n');
                text.push_str(&<$type>::docs().unwrap_or_default());
                text.push_str("export ");
                text.push_str(&<$type>::decl(&config));
                text.push('\n');
            )*
        )*};
    }
    declare! {
        "Every socket, down: the answers.": views::Answer;
        "/page, up.": up::PageUp;
        "/page, down.": frames::PageDown, frames::State, frames::Conversation, frames::Agent, frames::Tool, frames::App,
            frames::Items, frames::Page, frames::Item, frames::What, frames::Delivery, frames::Call, frames::StageWord,
            frames::Time, frames::End, frames::StatusWord, frames::Life, frames::Ending, frames::ByWord,
            frames::Session, frames::SessionRun;
        "/host, up.": up::HostUp, up::Named, up::Intent;
        "/host, down.": views::HostDown, views::HostView, views::Foreground, views::Listed, views::InstanceStateWord,
            views::SurfaceView, views::SurfaceDocument;
        "/user, up.": up::UserUp;
        "GET /surfaces.": views::Surfaces, frames::Surface;
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_pages_types_say_what_the_frames_say() {
    let (path, text) = (Path::new(FILE), text());
    if std::env::var_os(WRITE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if fs::read_to_string(path).is_ok_and(|committed| committed == text) {
            return;
        }
        fs::write(path, text).unwrap();
        return;
    }
    let committed = fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        committed == text,
        "ui/shell/src/generated/frames.ts differs from the frames; run `cargo xtask ui types` and commit it"
    );
}
