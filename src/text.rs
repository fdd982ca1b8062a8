//! Text on its way to JavaScript, and from there.

use std::ptr;
use std::sync::OnceLock;

use napi::bindgen_prelude::{
    Buffer, Either, FromNapiValue, JsObjectValue, ToNapiValue, TypeName, ValidateNapiValue,
};
use napi::{Env, JsString, sys};
use toolwright_core::failure::Failure;
use toolwright_core::failure::changes::no_memory;

/// A string that may be long. What is ASCII is handed over as Latin-1, which it is too: an engine copies
/// that as it is, and decodes UTF-8.
#[derive(Debug)]
pub struct Text(pub(crate) String);

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
        let mut value = ptr::null_mut();
        // SAFETY: the environment is the caller's, and text and place live through the call.
        let status = unsafe {
            let length = text.len().cast_signed();
            sys::napi_create_string_latin1(env, text.as_ptr().cast(), length, &raw mut value)
        };
        if status == sys::Status::napi_ok {
            return Ok(value);
        }
        Err(napi::Error::new(
            napi::Status::from(status),
            "a text is too long for JavaScript".to_owned(),
        ))
    }
}

/// The text of a file. What is ASCII crosses as a string, and other bytes as a buffer: JavaScript engines
/// decode UTF-8 faster than they take it.
pub enum FileText {
    Ascii(Text),
    Bytes(Buffer),
}

impl From<Vec<u8>> for FileText {
    fn from(bytes: Vec<u8>) -> Self {
        if !bytes.is_ascii() {
            return Self::Bytes(bytes.into());
        }
        // ASCII is UTF-8, so the error arm cannot be reached; it is right all the same.
        String::from_utf8(bytes).map_or_else(
            |error| Self::Bytes(error.into_bytes().into()),
            |text| Self::Ascii(Text(text)),
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
#[derive(Debug)]
pub struct GivenText(Given);

#[derive(Debug)]
enum Given {
    Encoded(String),
    Units(Vec<u16>),
    /// There was no memory for it.
    NoMemory(usize),
}

impl GivenText {
    /// The text. A surrogate without its other half becomes U+FFFD.
    pub(crate) fn encoded(self) -> Result<String, Failure> {
        match self.0 {
            Given::Encoded(text) => Ok(text),
            Given::Units(units) => encoded(&units).ok_or_else(|| no_memory(units.len())),
            Given::NoMemory(length) => Err(no_memory(length)),
        }
    }
}

impl TypeName for GivenText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::String
    }
}

impl ValidateNapiValue for GivenText {}

impl FromNapiValue for GivenText {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: the caller's promise.
        let units = if is_bun(env) { unsafe { units(env, value) } } else { None };
        if let Some(units) = units {
            return Ok(Self(Given::Units(units)));
        }
        // SAFETY: the same.
        unsafe { bytes(env, value) }.map(Self)
    }
}

fn is_bun(env: sys::napi_env) -> bool {
    static IS_BUN: OnceLock<bool> = OnceLock::new();
    *IS_BUN.get_or_init(|| {
        let global = Env::from_raw(env).get_global();
        global.and_then(|global| global.has_named_property("Bun")).unwrap_or(false)
    })
}

/// A string as UTF-8.
///
/// # Safety
///
/// The value belongs to the environment, on whose thread this is.
unsafe fn bytes(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Given> {
    let failed = || napi::Error::new(napi::Status::StringExpected, "a text is expected".to_owned());
    let mut length = 0;
    // SAFETY: without a buffer only the length is told.
    let status =
        unsafe { sys::napi_get_value_string_utf8(env, value, ptr::null_mut(), 0, &raw mut length) };
    if status != sys::Status::napi_ok {
        return Err(failed());
    }
    let room = length + 1; // for the NUL at the end
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(room).is_err() {
        return Ok(Given::NoMemory(length));
    }
    // SAFETY: the buffer has room for as many bytes as it says.
    let status = unsafe {
        let buffer = bytes.as_mut_ptr().cast();
        sys::napi_get_value_string_utf8(env, value, buffer, room, &raw mut length)
    };
    if status != sys::Status::napi_ok || length >= room {
        return Err(failed());
    }
    // SAFETY: so many were written.
    unsafe { bytes.set_len(length) };
    String::from_utf8(bytes).map(Given::Encoded).map_err(|_| failed())
}

fn encoded(units: &[u16]) -> Option<String> {
    let mut text = String::new();
    let bytes = char::decode_utf16(units.iter().copied())
        .map(|unit| unit.map_or(char::REPLACEMENT_CHARACTER.len_utf8(), char::len_utf8))
        .sum();
    text.try_reserve_exact(bytes).ok()?;
    let characters = char::decode_utf16(units.iter().copied());
    text.extend(characters.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    Some(text)
}

/// The UTF-16 units of a long string. `None` for a short one, for what is no string, and without memory.
///
/// # Safety
///
/// The value belongs to the environment, on whose thread this is.
unsafe fn units(env: sys::napi_env, value: sys::napi_value) -> Option<Vec<u16>> {
    let mut length = 0;
    // SAFETY: without a buffer only the length is told.
    let status = unsafe {
        sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &raw mut length)
    };
    if status != sys::Status::napi_ok || length < SHORT {
        return None;
    }
    let room = length + 1; // for the NUL at the end
    let mut units = Vec::new();
    units.try_reserve_exact(room).ok()?;
    // SAFETY: the buffer has room for as many units as it says.
    let status = unsafe {
        sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), room, &raw mut length)
    };
    if status != sys::Status::napi_ok || length >= room {
        return None;
    }
    // SAFETY: so many were written.
    unsafe { units.set_len(length) };
    Some(units)
}
