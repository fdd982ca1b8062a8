//! Text on its way to JavaScript, and from there.

use std::ptr;
use std::sync::OnceLock;

use napi::bindgen_prelude::{
    Buffer, Either, FromNapiValue, JsObjectValue, JsValue, ToNapiValue, TypeName, ValidateNapiValue,
};
use napi::{Env, JsString, check_status, sys};
use toolwright_core::failure::Failure;
use toolwright_core::failure::changes::no_memory;
use toolwright_core::text::from_utf16;

use crate::cross::{Cross, convert};

/// A string that may be long. What is ASCII is handed over as Latin-1, which it is too: an engine copies
/// that as it is, and decodes UTF-8.
pub struct Text(pub(crate) String);

convert! { String => Text: |text| Text(text); }

impl TypeName for Text {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::String
    }
}

impl ToNapiValue for Text {
    unsafe fn to_napi_value(env: sys::napi_env, Self(text): Self) -> napi::Result<sys::napi_value> {
        if !text.is_ascii() {
            // SAFETY: the caller's promise.
            return unsafe { String::to_napi_value(env, text) };
        }
        let env = Env::from_raw(env);
        Ok(env.create_string_latin1(text)?.raw())
    }
}

/// The text of a file. What is ASCII crosses as a string, and other bytes as a buffer: JavaScript engines
/// decode UTF-8 faster than they take it.
pub enum FileText {
    Ascii(Text),
    Bytes(Buffer),
}

impl Cross<FileText> for Vec<u8> {
    fn cross(self) -> FileText {
        if !self.is_ascii() {
            return FileText::Bytes(self.into());
        }
        // ASCII is UTF-8, so the error arm cannot be reached; it is right all the same.
        String::from_utf8(self).map_or_else(
            |error| FileText::Bytes(error.into_bytes().into()),
            |text| FileText::Ascii(Text(text)),
        )
    }
}

impl TypeName for FileText {
    fn type_name() -> &'static str {
        "String | Buffer"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Unknown
    }
}

impl ToNapiValue for FileText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller passes the environment of this thread.
        unsafe {
            match text {
                Self::Ascii(text) => Text::to_napi_value(env, text),
                Self::Bytes(bytes) => Buffer::to_napi_value(env, bytes),
            }
        }
    }
}

/// The same on the JavaScript thread, without a copy of what is ASCII.
pub(crate) type CachedText<'env> = Either<JsString<'env>, Buffer>;

pub(crate) fn cached_text<'env>(env: &'env Env, bytes: &[u8]) -> napi::Result<CachedText<'env>> {
    if bytes.is_ascii() {
        env.create_string_latin1(bytes).map(Either::A) // ASCII is Latin-1, too
    } else {
        Ok(Either::B(bytes.to_vec().into()))
    }
}

/// A text of fewer UTF-16 units is encoded on the JavaScript thread: that takes less than a copy and another
/// thread's work.
const SHORT: usize = 64 << 10;

/// A string from JavaScript that may be long. In Bun a long one is copied as the engine has it and encoded on the
/// thread that uses it: Bun takes 30 ms to encode 10 MB, and does so twice. Node takes less than it takes to
/// copy, in a third of the memory.
pub enum TextArgument {
    Encoded(String),
    Units(Vec<u16>),
    /// There is no memory for it; the length in units.
    NoMemory(usize),
}

impl TextArgument {
    /// The text. A surrogate without its other half becomes U+FFFD.
    pub(crate) fn encoded(self) -> Result<String, Failure> {
        match self {
            Self::Encoded(text) => Ok(text),
            Self::Units(units) => from_utf16(&units).ok_or_else(|| no_memory(units.len())),
            Self::NoMemory(length) => Err(no_memory(length)),
        }
    }
}

impl TypeName for TextArgument {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::String
    }
}

impl ValidateNapiValue for TextArgument {}

impl FromNapiValue for TextArgument {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: the value belongs to the environment, on whose thread this is.
        unsafe {
            if is_bun(env) && JsString::from_napi_value(env, value)?.utf16_len()? >= SHORT {
                let units = copied(|buffer, capacity, length| {
                    sys::napi_get_value_string_utf16(env, value, buffer, capacity, length)
                })?;
                return Ok(units.map_or_else(Self::NoMemory, Self::Units));
            }
            let bytes = copied(|buffer: *mut u8, capacity, length| {
                sys::napi_get_value_string_utf8(env, value, buffer.cast(), capacity, length)
            })?;
            match bytes.map(String::from_utf8) {
                Ok(Ok(text)) => Ok(Self::Encoded(text)),
                Ok(Err(error)) => Err(napi::Error::from_reason(error.to_string())),
                Err(length) => Ok(Self::NoMemory(length)),
            }
        }
    }
}

fn is_bun(env: sys::napi_env) -> bool {
    static IS_BUN: OnceLock<bool> = OnceLock::new();
    *IS_BUN.get_or_init(|| {
        let global = Env::from_raw(env).get_global();
        global.and_then(|global| global.has_named_property("Bun")).unwrap_or(false)
    })
}

/// A string in the units that `read` writes, or how many they are if there is no memory for them.
///
/// # Safety
///
/// `read(buffer, capacity, length)` writes at most `capacity` units, and to `length` how many; without a
/// buffer, how many there are.
unsafe fn copied<U>(
    read: impl Fn(*mut U, usize, *mut usize) -> sys::napi_status,
) -> napi::Result<Result<Vec<U>, usize>> {
    let mut length = 0;
    check_status!(read(ptr::null_mut(), 0, &raw mut length))?;
    let capacity = length + 1; // for the NUL at the end
    let mut units = Vec::new();
    if units.try_reserve_exact(capacity).is_err() {
        return Ok(Err(length));
    }
    check_status!(read(units.as_mut_ptr(), capacity, &raw mut length))?;
    // SAFETY: the call has written `length` units.
    unsafe { units.set_len(length) };
    Ok(Ok(units))
}
