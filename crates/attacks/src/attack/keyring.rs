//! The keys that the kernel keeps for a user.

use crate::arguments::{Arguments, c_string};
use crate::descriptors::filled;
use crate::outcome::{Done, Outcome, Refused, attacks, system_call};

attacks! { key_read, key_add, key_remove }

/// The keyring of the user, which all of the user's processes share.
const USER_KEYRING: i32 = -4;
const SET_PERMISSIONS: i32 = 5;
const UNLINK: i32 = 9;
const SEARCH: i32 = 10;
const READ: i32 = 11;

pub(crate) fn add(name: &str, token: &str) -> Result<usize, Refused> {
    let name = c_string(name)?;
    let key = system_call!(SYS_add_key, c"user", &name, token, token.len(), USER_KEYRING)?;
    // Readable for the user, and not only for holders of a link to it.
    system_call!(SYS_keyctl, SET_PERMISSIONS, key, 0x3f3f_0000)?;
    Ok(key)
}

pub(crate) fn remove(key: usize) {
    let _ = system_call!(SYS_keyctl, UNLINK, key, USER_KEYRING);
}

fn find(name: &str) -> Result<usize, Refused> {
    let name = c_string(name)?;
    system_call!(SYS_keyctl, SEARCH, USER_KEYRING, c"user", &name, 0)
}

fn key_read(arguments: &Arguments) -> Outcome {
    let key = find(arguments.text(0)?)?;
    filled(|place, length| system_call!(SYS_keyctl, READ, key, place, length))
}

fn key_add(arguments: &Arguments) -> Outcome {
    add(arguments.text(0)?, arguments.text(1)?).done()
}

fn key_remove(arguments: &Arguments) -> Outcome {
    remove(find(arguments.text(0)?)?);
    Ok(String::new())
}
