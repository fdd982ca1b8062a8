//! The arguments of an attack.

use std::ffi::CString;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use crate::outcome::{Named, Refused};

/// The arguments behind the name of an attack.
pub(crate) struct Arguments<'a>(&'a [String]);

impl<'a> Arguments<'a> {
    pub(crate) fn new(arguments: &'a [String]) -> Self {
        Self(arguments)
    }

    pub(crate) fn text(&self, index: usize) -> Result<&'a str, Refused> {
        let missing = || io::Error::other(format!("argument {index} is missing"));
        self.0.get(index).map(String::as_str).ok_or_else(missing).named("arguments")
    }

    pub(crate) fn number<T: FromStr>(&self, index: usize) -> Result<T, Refused> {
        let text = self.text(index)?;
        let wrong = |_| io::Error::other(format!("{text} is no number"));
        text.parse().map_err(wrong).named("arguments")
    }

    pub(crate) fn address(&self, index: usize) -> Result<SocketAddr, Refused> {
        let text = self.text(index)?;
        let wrong = |_| io::Error::other(format!("{text} is no address"));
        text.parse().map_err(wrong).named("arguments")
    }

    /// As the kernel takes a path or a name.
    pub(crate) fn path(&self, index: usize) -> Result<CString, Refused> {
        c_string(self.text(index)?)
    }

    /// The command after `--`.
    pub(crate) fn command(&self) -> Result<(&'a str, &'a [String]), Refused> {
        let at = self.0.iter().position(|argument| argument == "--");
        let command = at.and_then(|at| self.0[at + 1..].split_first());
        let missing = || io::Error::other("a command is missing");
        command
            .map(|(program, rest)| (program.as_str(), rest))
            .ok_or_else(missing)
            .named("arguments")
    }
}

pub(crate) fn c_string(text: &str) -> Result<CString, Refused> {
    CString::new(text).map_err(io::Error::from).named("arguments")
}
