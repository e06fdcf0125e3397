//! The default limits of contract section 15.

/// An envelope on the wire, in bytes.
pub const ENVELOPE_BYTES: usize = 256 * 1024;
/// A tool's input or output, in bytes of canonical JSON.
pub const BODY_BYTES: usize = 64 * 1024;
/// Nesting of JSON arrays and objects.
pub const JSON_DEPTH: usize = 32;
/// JSON values in one document. No document of 256 KiB can hold more, so within that size it refuses
/// nothing; larger documents cannot turn into many times their size in memory.
pub const JSON_NODES: usize = 128 * 1024;
/// One WebSocket message, in bytes.
pub const WEBSOCKET_MESSAGE_BYTES: usize = 1024 * 1024;
/// Session data or a Surface document, in bytes of canonical JSON.
pub const DOCUMENT_BYTES: usize = 256 * 1024;
/// A schema, in bytes of canonical JSON.
pub const SCHEMA_BYTES: usize = 64 * 1024;
/// Nesting of a schema, counted as the arrays and objects of its JSON: a manifest or an inventory
/// around it stays within [`JSON_DEPTH`].
pub const SCHEMA_DEPTH: usize = 16;
/// A manifest, in bytes.
pub const MANIFEST_BYTES: usize = 1024 * 1024;
/// Tools of one MiniApp; the same number bounds every other list of a manifest.
pub const MANIFEST_ENTRIES: usize = 64;
/// A description in a manifest, in bytes.
pub const DESCRIPTION_BYTES: usize = 4 * 1024;
/// A controlled reason, such as why an operation was not started, in characters.
pub const REASON_CHARS: usize = 64;
/// How long bringing an instance up may take, in milliseconds (ACT-1).
pub const ACTIVATION_MS: u64 = 10_000;
/// How long a call that needs the foreground waits for any Host, in milliseconds (ACT-1).
pub const HOST_GRACE_MS: u64 = 900;
/// Calls that wait on one instance.
pub const WAITING_PER_INSTANCE: usize = 100;
/// Calls that wait in a workspace.
pub const WAITING_PER_WORKSPACE: usize = 10_000;
/// How often a call is handed to a handler (DUR-4).
pub const DELIVERY_ATTEMPTS: u32 = 3;
/// The longest deadline, in milliseconds (24 h).
pub const DEADLINE_MS: u64 = 24 * 60 * 60 * 1000;
/// The longest running time of a call, in milliseconds (CALL-9).
pub const TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
/// The running time of a call whose tool declares none, in milliseconds (INV-3).
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// Entries of the focus stack.
pub const FOCUS_STACK: usize = 32;
/// One progress report of a MiniApp, in bytes of canonical JSON (CALL-12).
pub const PROGRESS_BYTES: usize = 8 * 1024;
/// A message text in a conversation, in bytes.
pub const TEXT_BYTES: usize = 16 * 1024;
