//! What makes a manifest wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Manifest, ManifestFault};
use crate::{
    Descriptor, ToolId,
    descriptor::{BuiltIn, Executor, Invocation, OperationRule, Readiness},
    json::{ECHO_BYTES, shortened},
    limits,
    schema::{Schema, text},
};

/// Parses every schema of a manifest and reads every tool, so that a fault says where it is.
pub(super) fn schemas(manifest: &Value) -> Result<(), Vec<ManifestFault>> {
    let mut faults = Vec::new();
    for (list, keywords) in [("tools", &["input_schema", "output_schema"][..]), ("ui_actions", &["input_schema"])] {
        for (index, entry) in manifest[list].as_array().into_iter().flatten().enumerate() {
            let before = faults.len();
            for keyword in keywords {
                let at = format!("/{list}/{index}/{keyword}");
                if let Some(Err(found)) = entry.get(keyword).map(Schema::parse) {
                    faults.extend(found.into_iter().map(|fault| ManifestFault::of_schema(&at, fault)));
                }
            }
            if faults.len() == before && list == "tools" {
                faults.extend(read::<Descriptor>(entry, &format!("/{list}/{index}")).err().into_iter().flatten());
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

pub(super) fn read<T: DeserializeOwned>(value: &Value, at: &str) -> Result<T, Vec<ManifestFault>> {
    T::deserialize(value).map_err(|error| {
        // Serde's sentence may quote the value.
        let sentence = error.to_string();
        vec![ManifestFault::bad(at, shortened(&sentence, ECHO_BYTES))]
    })
}

pub(super) fn faults(manifest: &Manifest) -> Vec<ManifestFault> {
    let mut check = Check { faults: Vec::new() };
    check.manifest(manifest);
    check.faults
}

pub(super) fn successor_faults(newer: &Manifest, older: &Manifest) -> Vec<ManifestFault> {
    if newer.digest == older.digest {
        return Vec::new();
    }
    let mut faults = Vec::new();
    if newer.app_scope != older.app_scope {
        faults.push(ManifestFault::bad("/app_scope", "this is the manifest of another MiniApp"));
    } else if newer.version == older.version {
        faults.push(ManifestFault::bad("/version", "the manifest changed under the same version"));
    }
    let meaning = |tool: &Descriptor| {
        let shape = (tool.input_schema.clone(), tool.output_schema.clone());
        (shape, tool.invocation, tool.readiness, tool.executor.clone(), tool.terminal, tool.operation)
    };
    for (index, tool) in newer.tools.iter().enumerate() {
        let before = older.tools.iter().find(|before| before.id == tool.id);
        if let Some(before) = before
            && (tool.contract_version < before.contract_version
                || (tool.contract_version == before.contract_version && meaning(tool) != meaning(before)))
        {
            faults.push(ManifestFault::bad(
                format!("/tools/{index}/contract_version"),
                format!("`{}` means something else than before: raise its contract version", tool.id),
            ));
        }
    }
    faults
}

struct Check {
    faults: Vec<ManifestFault>,
}

impl Check {
    fn bad(&mut self, at: impl Into<String>, message: impl Into<String>) {
        self.faults.push(ManifestFault::bad(at, message));
    }

    fn ensure(&mut self, holds: bool, at: &str, field: &str, message: &str) {
        if !holds {
            self.bad(format!("{at}/{field}"), message);
        }
    }

    fn manifest(&mut self, manifest: &Manifest) {
        self.text("/version", &manifest.version, 64);
        self.list("/tools", manifest.tools.iter().map(|tool| tool.id.as_str()));
        self.list("/ui_actions", manifest.ui_actions.iter().map(|action| action.method.as_str()));
        self.list("/surfaces", manifest.surfaces.iter().map(|surface| surface.id.as_str()));
        self.words("/subscriptions", &manifest.subscriptions);
        self.words("/requested_capabilities", &manifest.requested_capabilities);
        for (index, tool) in manifest.tools.iter().enumerate() {
            let at = format!("/tools/{index}");
            self.ensure(
                tool.app_scope == manifest.app_scope,
                &at,
                "app_scope",
                "the tool belongs to another app scope than its manifest",
            );
            self.tool(tool, &at);
        }
        for (index, action) in manifest.ui_actions.iter().enumerate() {
            let at = format!("/ui_actions/{index}");
            self.text(&format!("{at}/description"), &action.description, limits::DESCRIPTION_BYTES);
            self.ensure(action.input_schema.is_object(), &at, "input_schema", "an input is an object");
            self.ensure(
                manifest.tools.iter().all(|tool| tool.method != action.method),
                &at,
                "method",
                "an Agent Tool has this name; a UI Action needs its own (ENT-1)",
            );
        }
        for (index, surface) in manifest.surfaces.iter().enumerate() {
            self.text(&format!("/surfaces/{index}/title"), &surface.title, 256);
        }
        self.ensure(
            !manifest.host.surface_required || !manifest.surfaces.is_empty(),
            "/host",
            "surface_required",
            "the MiniApp requires a Surface but declares none",
        );
        self.ensure(
            manifest.digest == manifest.content_digest(),
            "",
            "digest",
            "the digest is not that of the manifest's content; generate the manifest again",
        );
    }

    fn tool(&mut self, tool: &Descriptor, at: &str) {
        self.ensure(
            tool.id == ToolId::of(&tool.app_scope, &tool.method),
            at,
            "id",
            "a tool's id is its app scope and its method joined by a dot",
        );
        self.ensure(tool.contract_version > 0, at, "contract_version", "contract versions start at 1");
        self.text(&format!("{at}/description"), &tool.description, limits::DESCRIPTION_BYTES);
        self.ensure(tool.input_schema.is_object(), at, "input_schema", "an input is an object");
        self.ensure(tool.output_schema.is_object(), at, "output_schema", "an output is an object");
        self.words(&format!("{at}/permissions"), &tool.permissions);
        self.words(&format!("{at}/host_requirements"), &tool.host_requirements);
        self.ensure(
            (1..=limits::TIMEOUT_MS).contains(&tool.timeout_ms),
            at,
            "timeout_ms",
            "a timeout is between 1 ms and 24 h",
        );
        self.ensure(
            tool.handling == Descriptor::handling_of(tool.invocation, tool.readiness),
            at,
            "handling",
            "`handling` is derived from invocation and readiness (INV-3)",
        );
        self.operation(tool, at);
        self.executor(tool, at);
    }

    fn operation(&mut self, tool: &Descriptor, at: &str) {
        self.ensure(
            tool.invocation == Invocation::Operation || tool.operation == OperationRule::default(),
            at,
            "operation",
            "only a tool with `invocation: operation` has an operation rule",
        );
        self.ensure(
            tool.readiness == Readiness::ForegroundRequired || !tool.operation.needs_foreground,
            at,
            "operation/needs_foreground",
            "an operation that needs the foreground has `readiness: foreground_required`",
        );
        self.ensure(
            tool.readiness != Readiness::ActivationNotRequired || tool.invocation != Invocation::Operation,
            at,
            "readiness",
            "an operation belongs to an instance, so it needs its activation",
        );
    }

    fn executor(&mut self, tool: &Descriptor, at: &str) {
        let action = match &tool.executor {
            Executor::MiniappSdk => {
                return self.ensure(
                    tool.readiness != Readiness::ActivationNotRequired,
                    at,
                    "readiness",
                    "a handler runs in an instance; only a Runtime action works without activation (ACT-2)",
                );
            }
            Executor::Runtime { action } => action,
        };
        self.ensure(
            tool.output_schema == action.output_schema(),
            at,
            "output_schema",
            "the Runtime writes the output of its action, so the schema is the action's own",
        );
        match action {
            BuiltIn::DeadlineStart { length, when_busy } => {
                let at_action = format!("{at}/executor/action");
                self.ensure(
                    tool.invocation == Invocation::Operation,
                    at,
                    "invocation",
                    "a deadline operation has `invocation: operation`",
                );
                let input = &tool.input_schema;
                let integer = input.property(&length.input).is_some_and(|property| property["type"] == "integer");
                self.ensure(
                    integer && input.requires(&length.input),
                    &at_action,
                    "length/input",
                    "the length is a required integer property of the input",
                );
                self.ensure(
                    is_word(when_busy),
                    &at_action,
                    "when_busy",
                    "a reason is one word of 1 to 64 of a-z 0-9 . _ -",
                );
            }
            BuiltIn::DeadlineInterrupt => self.ensure(
                tool.readiness == Readiness::ActivationNotRequired && tool.invocation == Invocation::Command,
                at,
                "readiness",
                "an interrupt is a command with `readiness: activation_not_required`",
            ),
        }
    }

    /// A list is short, in order, and names nothing twice.
    fn list<'a>(&mut self, at: &str, names: impl Iterator<Item = &'a str>) {
        let names: Vec<&str> = names.collect();
        if names.len() > limits::MANIFEST_ENTRIES {
            self.bad(at, format!("{} entries are more than {}", names.len(), limits::MANIFEST_ENTRIES));
        }
        if let Some(index) = (1..names.len()).find(|&index| names[index - 1] >= names[index]) {
            self.bad(format!("{at}/{index}"), "the list is not sorted, or it holds a name twice");
        }
    }

    fn words(&mut self, at: &str, words: &[String]) {
        self.list(at, words.iter().map(String::as_str));
        if let Some(index) = words.iter().position(|word| !is_word(word)) {
            self.bad(format!("{at}/{index}"), "expected 1 to 64 of a-z 0-9 . _ -");
        }
    }

    fn text(&mut self, at: &str, text: &str, max: usize) {
        if text.trim().is_empty() || text.len() > max {
            self.bad(at, format!("a text here has 1 to {max} bytes"));
        } else if let Some(c) = text::unfit_character(text) {
            self.bad(at, format!("the character U+{:04X} has no place in a text", u32::from(c)));
        }
    }
}

fn is_word(word: &str) -> bool {
    (1..=64).contains(&word.len()) && word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
}
