//! Files that this crate generates and commits.

use std::path::PathBuf;

/// Compares a committed file with what the code says it should hold, or writes it when
/// `LINEUP_BLESS=1`.
pub fn holds(path: &str, expected: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("LINEUP_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
        return;
    }
    let found = std::fs::read(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{} is stale; if the change is meant, repair it with: LINEUP_BLESS=1 cargo test -p lineup-wire",
        path.display()
    );
}
