//! Builds the sandbox program, static, for this crate to carry.
//!
//! It is built by the same Cargo into a directory of its own (the one of this build is locked), and
//! always optimised: it is executed by tests too, and its size is part of the addon's.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "toolwright-sandbox";

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let crates = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    println!("cargo::rerun-if-changed={}", crates.join("sandbox/src").display());
    println!("cargo::rerun-if-changed={}", crates.join("sandbox/Cargo.toml").display());
    println!("cargo::rerun-if-changed={}", crates.join("fs/src").display());
    println!("cargo::rerun-if-changed={}", crates.join("../Cargo.lock").display());
    if env::var("CARGO_CFG_TARGET_OS")? != "linux" {
        return Ok(());
    }
    let target = env::var("TARGET")?;
    let directory = target_directory(&out).join("sandbox-program");
    // What this build was told by its flags is not meant for a static program: a sanitizer, say.
    let status = Command::new(env::var("CARGO")?)
        .current_dir(crates.join(".."))
        .args(["build", "--profile", "sandbox-program", "--package", PACKAGE, "--bin", PACKAGE])
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
    let program = directory.join(&target).join("sandbox-program").join(PACKAGE);
    println!("cargo::rustc-env=TOOLWRIGHT_SANDBOX_PROGRAM={}", program.display());
    Ok(())
}

/// The root of the target directory, so that debug and release builds share the program.
fn target_directory(out: &Path) -> PathBuf {
    let root = out.ancestors().find(|directory| directory.join("CACHEDIR.TAG").exists());
    root.unwrap_or(out).to_owned()
}
