//! `attack NAME [argument …]`: one attack on its surroundings, with raw system calls.
//!
//! The first line of its output is `trying NAME`; then comes `reached` with its gain, or `refused
//! CALL: ERROR`. The output proves nothing: a test looks for the effect outside.
//!
//! The same program plays the other parts of a test: the [`victim`] of an attack, a [`listen`]er
//! that waits for data that should not arrive, and the [`launch`] of programs as another user.
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "words for the kernel, which has one type for numbers, descriptors and addresses"
    )
)]

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(target_os = "linux")]
mod escape;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod foreign;
#[cfg(target_os = "linux")]
mod handle;
#[cfg(target_os = "linux")]
mod internet;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod keyring;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod linger;
#[cfg(target_os = "linux")]
mod listen;
#[cfg(target_os = "linux")]
mod metadata;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod peek;
#[cfg(target_os = "linux")]
mod priority;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_pair;
#[cfg(target_os = "linux")]
mod unix;
#[cfg(target_os = "linux")]
mod uring;
#[cfg(target_os = "linux")]
mod victim;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use outcome::say;

    let given: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = given.split_first() else {
        say("usage: attack NAME [argument …]");
        return std::process::ExitCode::from(2);
    };
    let tables = [
        escape::ATTACKS,
        files::ATTACKS,
        foreign::ATTACKS,
        handle::ATTACKS,
        internet::ATTACKS,
        ipc::ATTACKS,
        kernel::ATTACKS,
        keyring::ATTACKS,
        launch::ATTACKS,
        limits::ATTACKS,
        linger::ATTACKS,
        listen::ATTACKS,
        metadata::ATTACKS,
        mounts::ATTACKS,
        netlink::ATTACKS,
        packet::ATTACKS,
        peek::ATTACKS,
        priority::ATTACKS,
        signals::ATTACKS,
        supervisor::ATTACKS,
        terminal::ATTACKS,
        unix::ATTACKS,
        uring::ATTACKS,
        victim::ATTACKS,
    ];
    let Some((_, attack)) = tables.into_iter().flatten().find(|(known, _)| known == name) else {
        say(&format!("no attack is called {name}"));
        return std::process::ExitCode::from(2);
    };
    say(&format!("trying {name}"));
    match attack(&arguments::Arguments::new(rest)) {
        Ok(gained) => {
            say(format!("reached {gained}").trim_end());
            std::process::ExitCode::SUCCESS
        }
        Err(refused) => {
            say(&format!("refused {refused}"));
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
