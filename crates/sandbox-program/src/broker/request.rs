//! The request of a caller.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::address::{self, MAX_ADDRESS_BYTES};
use super::caller::Caller;
use super::listener::Notification;
use super::socket::check_tcp;
use crate::filter::{Architecture, calls};

/// The longest address that the kernel takes of a caller.
const MAX_KERNEL_ADDRESS_BYTES: i32 = 128;

/// As long as `struct timeval`, in both forms of the option.
const LIMIT: usize = 16;

/// A call, with all that was in the caller's memory, copied and found harmless.
#[derive(Debug, Clone, Copy)]
pub(super) enum Request {
    Connect(SocketAddr),
    Bind(SocketAddr),
    Listen(i32),
    /// Which form of the option, and its value.
    SetLimit(i32, [u8; LIMIT]),
}

/// Takes the caller's socket and its arguments. Both are the caller's only if the notification is
/// still valid afterwards.
///
/// `is_bound`: no address but those of the loopback interface.
pub(super) fn read(
    notification: &Notification,
    is_bound: bool,
) -> Result<(OwnedFd, Request), Errno> {
    let [fd, second, third, fourth, fifth, _] = notification.args;
    let caller = Caller::new(notification.thread)?;
    let socket = caller.descriptor(int(fd))?;
    let is = |call: calls::Call| call.number(Architecture::OURS) == Some(notification.number);
    if is(calls::SETSOCKOPT) {
        // The filter lets no other option come here.
        if usize::try_from(int(fifth)).is_ok_and(|len| len >= LIMIT) {
            let mut value = [0; LIMIT];
            caller.read(fourth, &mut value)?;
            return Ok((socket, Request::SetLimit(int(third), value)));
        }
        return Err(Errno::INVAL);
    }
    check_tcp(&socket)?;
    if is(calls::LISTEN) {
        return Ok((socket, Request::Listen(int(second))));
    }
    let len = int(third);
    let mut bytes = [0; MAX_ADDRESS_BYTES];
    let bytes = match usize::try_from(len) {
        Ok(known) if len <= MAX_KERNEL_ADDRESS_BYTES => &mut bytes[..known.min(MAX_ADDRESS_BYTES)],
        _ => return Err(Errno::INVAL),
    };
    caller.read(second, bytes)?;
    let address = if is_bound { address::loopback(bytes)? } else { address::internet(bytes)? };
    Ok((
        socket,
        if is(calls::CONNECT) { Request::Connect(address) } else { Request::Bind(address) },
    ))
}

/// As the kernel takes an `int`.
#[expect(clippy::cast_possible_truncation, reason = "the kernel truncates")]
fn int(arg: u64) -> i32 {
    arg as i32
}
