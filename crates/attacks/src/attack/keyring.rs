//! The keys that the kernel keeps for a user.

use crate::arguments::{Arguments, c_string};
use crate::outcome::{Attack, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] =
    &[("key-read", key_read), ("key-add", key_add), ("key-remove", key_remove)];

/// The keyring of the user, which all of the user's processes share.
const USER_KEYRING: i32 = -4;
const SET_PERMISSIONS: i32 = 5;
const UNLINK: i32 = 9;
const SEARCH: i32 = 10;
const READ: i32 = 11;

pub(crate) fn add(name: &str, token: &str) -> Result<usize, Refused> {
    let kind = c"user";
    let name = c_string(name)?;
    let (place, length) = (token.as_ptr(), token.len());
    let number = libc::SYS_add_key;
    let key =
        system_call!("add_key", number, kind.as_ptr(), name.as_ptr(), place, length, USER_KEYRING)?;
    // Readable for the user, and not only for holders of a link to it.
    system_call!("keyctl", libc::SYS_keyctl, SET_PERMISSIONS, key, 0x3f3f_0000)?;
    Ok(key)
}

pub(crate) fn remove(key: usize) {
    let _ = system_call!("keyctl", libc::SYS_keyctl, UNLINK, key, USER_KEYRING);
}

fn find(name: &str) -> Result<usize, Refused> {
    let kind = c"user";
    let name = c_string(name)?;
    let number = libc::SYS_keyctl;
    system_call!("keyctl", number, SEARCH, USER_KEYRING, kind.as_ptr(), name.as_ptr(), 0)
}

fn key_read(arguments: &Arguments) -> Outcome {
    let key = find(arguments.text(0)?)?;
    let mut bytes = [0_u8; 256];
    let (place, length) = (bytes.as_mut_ptr(), bytes.len());
    let got = system_call!("keyctl", libc::SYS_keyctl, READ, key, place, length)?;
    Ok(String::from_utf8_lossy(&bytes[..got]).into_owned())
}

fn key_add(arguments: &Arguments) -> Outcome {
    add(arguments.text(0)?, arguments.text(1)?)?;
    Ok(String::new())
}

fn key_remove(arguments: &Arguments) -> Outcome {
    remove(find(arguments.text(0)?)?);
    Ok(String::new())
}
