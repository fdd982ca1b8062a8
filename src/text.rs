//! Text on its way to JavaScript.

use std::ptr;

use napi::Result;
use napi::bindgen_prelude::ToNapiValue;
use napi::bindgen_prelude::TypeName;
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
