//! Values on their way across the border: what a number, a path or an absent list of JavaScript is to the
//! crates, and the other way round.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use napi::bindgen_prelude::Buffer;
use serde_json::{Map, Value};

/// A value that means the same on both sides, as the other side has it.
pub(crate) trait Cross<T> {
    fn cross(self) -> T;
}

/// Structs that mean the same on both sides, field by field: `field: source` where a field has another name
/// there. All fields of the source are named, or `..` says that the rest stays.
macro_rules! cross {
    ($($from:path => $to:path {
        $($field:ident $(: $source:ident)?),+ $(,)? $(; $rest:tt)?
    })+) => {$(
        impl $crate::cross::Cross<$to> for $from {
            fn cross(self) -> $to {
                let $from { $($($source:)? $field,)+ $($rest)? } = self;
                $to { $($field: $crate::cross::Cross::cross($field)),+ }
            }
        }
    )+};
}

/// Types that are the same on both sides, or that are made for the other side.
macro_rules! same {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::cross::Cross<Self> for $type {
            fn cross(self) -> Self {
                self
            }
        }
    )+};
}

/// Values and what they are on the other side.
macro_rules! convert {
    ($($from:ty => $to:ty: |$value:ident| $crossed:expr;)+) => {$(
        impl $crate::cross::Cross<$to> for $from {
            fn cross(self) -> $to {
                let $value = self;
                $crossed
            }
        }
    )+};
}

/// Enums that JavaScript knows by their words.
macro_rules! words {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::cross::Cross<&'static str> for $type {
            fn cross(self) -> &'static str {
                self.word()
            }
        }
    )+};
}

pub(crate) use {convert, cross, same, words};

same!((), bool, u16, u32, i32, i64, String, &'static str, Value, Map<String, Value>, Buffer, HashMap<String, String>);

impl<T: Cross<U>, U> Cross<Option<U>> for Option<T> {
    fn cross(self) -> Option<U> {
        self.map(T::cross)
    }
}

impl<T: Cross<U>, U> Cross<Vec<U>> for Vec<T> {
    fn cross(self) -> Vec<U> {
        self.into_iter().map(T::cross).collect()
    }
}

/// A list that JavaScript leaves out is empty.
impl<T: Cross<Vec<U>>, U> Cross<Vec<U>> for Option<T> {
    fn cross(self) -> Vec<U> {
        self.map(T::cross).unwrap_or_default()
    }
}

convert! {
    HashMap<String, String> => Vec<(OsString, OsString)>: |variables| {
        variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    };
    String => PathBuf: |path| path.into();
    Vec<u8> => Buffer: |bytes| bytes.into();
    // For a reader, or a path that is UTF-8.
    PathBuf => String: |path| path.to_string_lossy().into_owned();
    OsString => String: |name| name.to_string_lossy().into_owned();
    &'static str => String: |text| text.to_owned();
    Cow<'static, str> => String: |text| text.into_owned();
    // A choice that JavaScript leaves out is not made.
    Option<bool> => bool: |choice| choice.unwrap_or_default();
    // NaN and negative numbers of milliseconds are zero, infinity is a day.
    f64 => Duration: |ms| {
        const DAY_MS: f64 = 86_400_000.0;
        let ms = if ms.is_nan() { 0.0 } else { ms.clamp(0.0, DAY_MS) };
        Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
    };
    // How long to wait: infinity is no limit.
    f64 => Option<Duration>: |ms| (ms != f64::INFINITY).then(|| ms.cross());
    // A count of what is held in memory.
    f64 => usize: |count| usize::try_from(whole(count)).unwrap_or(usize::MAX);
    f64 => u64: |count| whole(count);
    f64 => u32: |count| u32::try_from(whole(count)).unwrap_or(u32::MAX);
    u32 => usize: |count| count as usize;
    u64 => u32: |count| u32::try_from(count).unwrap_or(u32::MAX);
    usize => u32: |count| u32::try_from(count).unwrap_or(u32::MAX);
    u64 => f64: |count| float(count);
}

/// A count from JavaScript: NaN and negative numbers are zero, and nothing overflows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and makes NaN zero, as callers expect"
)]
fn whole(count: f64) -> u64 {
    count as u64
}

/// A count or a size for JavaScript: exact up to 2^53, which nothing here reaches.
#[expect(clippy::cast_precision_loss, reason = "no file and no list is that long")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
