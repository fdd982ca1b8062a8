//! `attack NAME [argument …]`: one attack on its surroundings, with raw system calls.
//!
//! The first line of its output is `trying NAME`; then comes `reached` with its gain, or `refused
//! CALL: ERROR`. The output proves nothing: a test looks for the effect outside.
//!
//! The same program plays the other parts of a test: the [`victim`] of an attack, a [`listen`]er
//! that waits for data that should not arrive, and the [`launch`] of programs as another user.
#![cfg(target_os = "linux")]
#![expect(
    clippy::cast_lossless,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "words for the kernel, which has one type for numbers, descriptors and addresses"
)]

mod arguments;
mod descriptors;
mod escape;
mod files;
mod foreign;
mod handle;
mod internet;
mod ipc;
mod kernel;
mod keyring;
mod launch;
mod limits;
mod linger;
mod listen;
mod metadata;
mod mounts;
mod netlink;
mod outcome;
mod packet;
mod peek;
mod priority;
mod signals;
mod supervisor;
mod terminal;
mod terminal_pair;
mod unix;
mod uring;
mod victim;

use std::process::ExitCode;

use outcome::say;

/// Makes the attack that the arguments of this process name.
#[must_use]
pub fn run() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        say("usage: attack NAME [argument …]");
        return ExitCode::from(2);
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
    let function = name.replace('-', "_");
    let mut attacks = tables.into_iter().flatten();
    let Some((_, attack)) = attacks.find(|(known, _)| *known == function) else {
        say(&format!("no attack is called {name}"));
        return ExitCode::from(2);
    };
    say(&format!("trying {name}"));
    match attack(&arguments::Arguments::new(rest)) {
        Ok(gained) => {
            say(format!("reached {gained}").trim_end());
            ExitCode::SUCCESS
        }
        Err(refused) => {
            say(&format!("refused {refused}"));
            ExitCode::FAILURE
        }
    }
}
