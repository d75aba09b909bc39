//! Finds the programs of a PostgreSQL server on this machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the folder with `postgres` and `initdb`, or what to install.
pub fn find() -> Result<PathBuf, String> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/postgres/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let found = [installed]
        .into_iter()
        .chain(env::split_paths(&path))
        .chain(pg_config())
        .chain(debian())
        .find_map(|folder| with_programs(&folder));
    found.ok_or_else(|| {
        "PostgreSQL is missing; scripts/tools installs it (Debian's package postgresql), or TEST_POSTGRES=postgres://… \
         names a server to use"
            .to_owned()
    })
}

/// Returns the path of PgBouncer, or what to install.
pub fn find_pooler() -> Result<PathBuf, String> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    let path = env::var_os("PATH").unwrap_or_default();
    let found = [installed]
        .into_iter()
        .chain(env::split_paths(&path))
        .chain([PathBuf::from("/usr/sbin")])
        .find_map(|folder| folder.join("pgbouncer").canonicalize().ok());
    found.ok_or_else(|| {
        "PgBouncer is missing; scripts/tools installs it (Debian's package pgbouncer)".to_owned()
    })
}

/// The real folder of the programs: a different user may run them, who cannot follow a link through this user's folder,
/// and PostgreSQL finds its other files relative to it.
fn with_programs(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("postgres").canonicalize().ok()?;
    let folder = program.parent()?;
    folder.join("initdb").exists().then(|| folder.to_owned())
}

fn pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

/// Debian installs each version in a separate folder outside of PATH; the newest first.
fn debian() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<u32> =
        versions.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    versions.iter().rev().map(|version| format!("/usr/lib/postgresql/{version}/bin").into()).collect()
}
