//! Builds the sandbox program, static, for this crate to carry.
//!
//! Cargo builds no binary of a dependency: an artifact dependency, which would, is unstable. So this
//! script has the same Cargo build the package by name, in a target directory of its own, because the
//! directory of this build is locked. The program is always optimised: tests execute it too, and its
//! size is part of the addon's.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "toolwright-sandbox-program";
const PROGRAM: &str = "toolwright-sandbox";

/// Names the linker of the program, where that of the addon cannot link it: zig has no static glibc.
const STATIC_LINKER: &str = "TOOLWRIGHT_STATIC_LINKER";

/// The directories of the packages that the program consists of.
const SOURCES: [&str; 9] = [
    "fork",
    "fs",
    "git",
    "patch",
    "patch-voice",
    "process",
    "reserved",
    "sandbox",
    "sandbox-program",
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let crates = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    let workspace = crates.join("..");
    for package in SOURCES.map(|name| crates.join(name)) {
        println!("cargo::rerun-if-changed={}", package.join("src").display());
        println!("cargo::rerun-if-changed={}", package.join("Cargo.toml").display());
    }
    println!("cargo::rerun-if-changed={}", workspace.join("Cargo.lock").display());
    if env::var("CARGO_CFG_TARGET_OS")? != "linux" {
        return Ok(());
    }
    let target = env::var("TARGET")?;
    let root = target_directory(&out);
    let profile = program_profile(out.strip_prefix(&root)?);
    let directory = root.join("sandbox-program");
    let mut cargo = Command::new(env::var("CARGO")?);
    println!("cargo::rerun-if-env-changed={STATIC_LINKER}");
    if let Some(linker) = env::var_os(STATIC_LINKER) {
        let name = target.to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{name}_LINKER"), linker);
    }
    // The flags of this build are not meant for a static program: they may ask for a sanitizer, say.
    let status = cargo
        .current_dir(workspace)
        .args(["build", "--profile", profile, "--package", PACKAGE, "--bin", PROGRAM])
        .args(["--target", &target, "--target-dir"])
        .arg(&directory)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .status()?;
    if !status.success() {
        return Err("the sandbox program could not be built; see above".into());
    }
    let program = directory.join(&target).join(profile).join(PROGRAM);
    println!("cargo::rustc-env=TOOLWRIGHT_SANDBOX_PROGRAM={}", program.display());
    Ok(())
}

/// The profile of the program: that of the release, unless `directory`, below the target directory, is that of a
/// checkout's addon or of tests.
fn program_profile(directory: &Path) -> &'static str {
    let is_quick = directory.iter().any(|name| name == "checkout" || name == "debug");
    if is_quick { "sandbox-program-checkout" } else { "sandbox-program" }
}

/// The root of the target directory, so that builds of one kind share the program.
fn target_directory(out: &Path) -> PathBuf {
    let root = out.ancestors().find(|directory| directory.join("CACHEDIR.TAG").exists());
    root.unwrap_or(out).to_owned()
}
