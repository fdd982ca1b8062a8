//! Text on its way to JavaScript, and from there.

use std::ptr;
use std::sync::OnceLock;

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::FromNapiValue;
use napi::bindgen_prelude::JsObjectValue;
use napi::bindgen_prelude::ToNapiValue;
use napi::bindgen_prelude::TypeName;
use napi::bindgen_prelude::ValidateNapiValue;
use napi::sys;

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
    unsafe fn to_napi_value(env: sys::napi_env, Self(text): Self) -> Result<sys::napi_value> {
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
}

impl GivenText {
    /// The text. A surrogate without its other half becomes U+FFFD.
    pub(crate) fn encoded(self) -> String {
        match self.0 {
            Given::Encoded(text) => text,
            Given::Units(units) => String::from_utf16_lossy(&units),
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
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        // SAFETY: the caller's promise.
        let units = if is_bun(env) { unsafe { units(env, value) } } else { None };
        match units {
            Some(units) => Ok(Self(Given::Units(units))),
            // SAFETY: the same.
            None => unsafe { String::from_napi_value(env, value) }
                .map(|text| Self(Given::Encoded(text))),
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
