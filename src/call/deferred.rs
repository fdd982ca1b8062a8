//! Promises that other threads settle. All promises of an environment share one channel.
//!
//! napi's own deferred makes a threadsafe function and a cleanup hook for every promise, on the
//! JavaScript thread. That takes longer than handing a short command to its worker.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{JsValue, ToNapiValue};
use napi::{Env, Error, Result, Status, sys};

use super::lock;

/// Settles one promise, on the thread of its environment.
type Settle = Box<dyn FnOnce(sys::napi_env)>;

/// The part of a channel that other threads hold.
struct Sender(Mutex<Option<sys::napi_threadsafe_function>>);

// SAFETY: a threadsafe function may be called from any thread, and the lock keeps it alive during
// the call.
unsafe impl Send for Sender {}
// SAFETY: as above.
unsafe impl Sync for Sender {}

/// The channel of one environment. It keeps the process alive while promises are unsettled.
struct Channel {
    env: sys::napi_env,
    sender: Arc<Sender>,
    unsettled: usize,
}

thread_local! {
    /// Several environments may live on one thread: one for each context that has loaded the addon.
    static CHANNELS: RefCell<Vec<Channel>> = const { RefCell::new(Vec::new()) };
}

/// Settles one promise. The promise of a `Deferred` that is dropped stays pending.
pub(crate) struct Deferred {
    handle: sys::napi_deferred,
    sender: Arc<Sender>,
}

// SAFETY: napi's deferred is only used on the thread of its environment, inside the channel's call.
unsafe impl Send for Deferred {}

/// Makes a promise with its deferred.
pub(crate) fn promise(env: &Env) -> Result<(Deferred, sys::napi_value)> {
    let sender = sender_of(env)?;
    let (mut handle, mut promise) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the environment is this thread's, and the out-pointers are valid for the call.
    checked(unsafe { sys::napi_create_promise(env.raw(), &raw mut handle, &raw mut promise) })?;
    count(env.raw(), 1);
    Ok((Deferred { handle, sender }, promise))
}

impl Deferred {
    /// Resolves the promise, from any thread. Does nothing when the environment has ended.
    pub(crate) fn resolve<T: ToNapiValue + 'static>(self, value: T) {
        let Self { handle, sender } = self;
        let settle_it: Settle = Box::new(move |env| {
            // SAFETY: the channel calls this on the environment's thread, with a handle scope open.
            unsafe { settle(env, handle, T::to_napi_value(env, value)) }
        });
        let function = lock(&sender.0);
        let Some(function) = *function else { return };
        let data = Box::into_raw(Box::new(settle_it));
        // SAFETY: the function is not released while the lock is held. On success it owns the data.
        let status = unsafe {
            let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
            sys::napi_call_threadsafe_function(function, data.cast(), mode)
        };
        if status != sys::Status::napi_ok {
            // SAFETY: the data was made above, and the failed call has not taken it.
            drop(unsafe { Box::from_raw(data) });
        }
    }
}

/// # Safety
///
/// Must run on the environment's thread with a handle scope open, once for each deferred.
unsafe fn settle(env: sys::napi_env, deferred: sys::napi_deferred, value: Result<sys::napi_value>) {
    // SAFETY: the caller keeps the conditions above.
    unsafe {
        match value {
            Ok(value) => sys::napi_resolve_deferred(env, deferred, value),
            Err(error) => {
                let error = napi::JsError::from(error).into_value(env);
                sys::napi_reject_deferred(env, deferred, error)
            }
        };
    }
}

fn sender_of(env: &Env) -> Result<Arc<Sender>> {
    let existing = CHANNELS.with_borrow(|channels| {
        let own = channels.iter().find(|channel| channel.env == env.raw());
        own.map(|channel| Arc::clone(&channel.sender))
    });
    existing.map_or_else(|| open(env), Ok)
}

fn open(env: &Env) -> Result<Arc<Sender>> {
    let name = env.create_string("toolwright")?;
    let mut function = ptr::null_mut();
    // SAFETY: the environment is this thread's, and the out-pointer is valid for the call.
    unsafe {
        checked(sys::napi_create_threadsafe_function(
            env.raw(),
            ptr::null_mut(),
            ptr::null_mut(),
            name.raw(),
            0,
            1,
            ptr::null_mut(),
            None,
            ptr::null_mut(),
            Some(called),
            &raw mut function,
        ))?;
        checked(sys::napi_unref_threadsafe_function(env.raw(), function))?;
    }
    let sender = Arc::new(Sender(Mutex::new(Some(function))));
    // Registered after the function's own hook, so that it runs before that one frees the function.
    let _ = env.add_env_cleanup_hook((env.raw(), Arc::clone(&sender)), |(env, sender)| {
        CHANNELS.with_borrow_mut(|channels| channels.retain(|channel| channel.env != env));
        close(&sender);
    })?;
    let channel = Channel { env: env.raw(), sender: Arc::clone(&sender), unsettled: 0 };
    CHANNELS.with_borrow_mut(|channels| channels.push(channel));
    Ok(sender)
}

fn close(sender: &Sender) {
    if let Some(function) = lock(&sender.0).take() {
        // SAFETY: the function is open, and `take` has made this its only holder.
        unsafe {
            let mode = sys::ThreadsafeFunctionReleaseMode::abort;
            sys::napi_release_threadsafe_function(function, mode)
        };
    }
}

/// The channel's call, on the thread of its environment. `env` is null when the environment has ended.
unsafe extern "C" fn called(
    env: sys::napi_env,
    _function: sys::napi_value,
    _context: *mut c_void,
    data: *mut c_void,
) {
    // SAFETY: `resolve` has made the data and passed it on once.
    let settle_it = unsafe { Box::from_raw(data.cast::<Settle>()) };
    if env.is_null() {
        return;
    }
    // A panic must not leave a function that C calls. The promise then stays pending.
    let _ = catch_unwind(AssertUnwindSafe(|| settle_it(env)));
    count(env, -1);
}

/// Counts the unsettled promises. The channel keeps the process alive while there are any.
fn count(env: sys::napi_env, by: isize) {
    CHANNELS.with_borrow_mut(|channels| {
        let Some(channel) = channels.iter_mut().find(|channel| channel.env == env) else { return };
        let before = channel.unsettled;
        channel.unsettled = before.saturating_add_signed(by);
        let Some(function) = *lock(&channel.sender.0) else { return };
        // SAFETY: the function is alive while the lock is held, and this is its environment's thread.
        unsafe {
            match (before, channel.unsettled) {
                (0, 1..) => sys::napi_ref_threadsafe_function(env, function),
                (1.., 0) => sys::napi_unref_threadsafe_function(env, function),
                _ => sys::Status::napi_ok,
            };
        }
    });
}

fn checked(status: sys::napi_status) -> Result<()> {
    if status == sys::Status::napi_ok {
        return Ok(());
    }
    Err(Error::new(Status::from(status), "a promise could not be made".to_owned()))
}
