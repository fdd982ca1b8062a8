//! Bytes that are put where JavaScript wants them.

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, Uint8Array, Uint8ArraySlice};
use napi::sys;

use crate::cross::same;

/// Bytes for memory of the caller; in JavaScript, how many there are. Memory of our own would wait for a
/// finalizer: a long stream leaves tens of megabytes of it behind.
pub struct Filling {
    pub(crate) bytes: Vec<u8>,
    pub(crate) target: Uint8Array,
}

same!(Filling);

impl TypeName for Filling {
    fn type_name() -> &'static str {
        "number"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Number
    }
}

impl ToNapiValue for Filling {
    unsafe fn to_napi_value(env: sys::napi_env, filling: Self) -> napi::Result<sys::napi_value> {
        let Self { bytes, target } = filling;
        // SAFETY: the caller's promise. The array is looked at again, because its memory may have gone to
        // another one meanwhile: it is empty then.
        let mut target = unsafe {
            let target = Uint8Array::to_napi_value(env, target)?;
            Uint8ArraySlice::from_napi_value(env, target)?
        };
        // SAFETY: JavaScript waits on this thread, so nothing else uses the memory.
        let memory = unsafe { target.as_mut() };
        let count = memory.len().min(bytes.len());
        memory[..count].copy_from_slice(&bytes[..count]);
        // SAFETY: the caller's promise.
        unsafe { u32::to_napi_value(env, u32::try_from(count).unwrap_or(0)) }
    }
}
