//! `attack listen FAMILY TYPE PROTOCOL ADDRESS`: waits for data that should not arrive, on kinds of
//! sockets that Node does not have, and prints it.

use crate::arguments::Arguments;
use crate::descriptors::read;
use crate::internet::{owned, socket, wire_address};
use crate::outcome::{Outcome, attacks, say, system_call};
use crate::unix::path_address;

attacks! { listen }

fn listen(arguments: &Arguments) -> Outcome {
    let (family, kind) = (arguments.number(0)?, arguments.number(1)?);
    let name = arguments.text(3)?;
    let at = match name.strip_prefix('@') {
        // An abstract name has no NUL byte at its end.
        Some(name) => {
            let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
            bytes.push(0);
            bytes.extend(name.as_bytes());
            bytes
        }
        None if family == libc::AF_UNIX => path_address(name)?,
        None => wire_address(arguments.address(3)?),
    };
    let fd = socket(family, kind, arguments.number(2)?)?;
    system_call!(SYS_bind, fd, &at, at.len())?;
    let accepts = kind != libc::SOCK_DGRAM;
    if accepts {
        system_call!(SYS_listen, fd, 16)?;
    }
    say("listening");
    loop {
        let peer = if accepts { system_call!(SYS_accept4, fd, 0, 0, 0)? } else { fd };
        say(&format!("got {}", read(peer)?));
        if accepts {
            drop(owned(peer));
        }
    }
}
