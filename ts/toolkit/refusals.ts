import { ToolError, type ToolErrorCode } from '../core/errors.js'

/**
 * With which codes a built-in tool refuses a call before it has done anything. Such a call is no
 * effect: a retry is not warned of it. Where a code can also mean that something was done, even only
 * in part, it is false here.
 */
export const isRefusal: Readonly<Record<ToolErrorCode, boolean>> = {
  TOOL_PATH_INVALID: true,
  TOOL_PATH_ESCAPE: true,
  TOOL_FILE_NOT_FOUND: true,
  TOOL_NOT_A_FILE: true,
  TOOL_NOT_A_DIRECTORY: true,
  TOOL_PERMISSION_DENIED: true,
  TOOL_FILE_TOO_LARGE: true,
  TOOL_CONTENT_TOO_LARGE: true,
  TOOL_PATCH_TOO_LARGE: true,
  TOOL_PATCH_FAILED: true,
  // The file was exchanged and exchanged back.
  TOOL_EDIT_CONFLICT: false,
  TOOL_EDIT_NO_MATCH: true,
  TOOL_EDIT_AMBIGUOUS: true,
  TOOL_FILE_BUSY: true,
  TOOL_FILE_BINARY: true,
  TOOL_TARGET_CLOSED: true,
  TOOL_REPLACE_REFUSED: true,
  TOOL_ROOT_INVALID: true,
  TOOL_ROOT_CHANGED: true,
  // May come after the file was replaced: its directory could not be synchronised.
  TOOL_IO_FAILED: false,
  TOOL_GREP_FAILED: true,
  // The command ran.
  TOOL_COMMAND_FAILED: false,
  TOOL_NETWORK_DISABLED: true,
  TOOL_GIT_REMOTE_DISABLED: true,
  TOOL_PATH_PROTECTED: true,
  TOOL_SANDBOX_UNAVAILABLE: true,
  // The command ran, and a write may still happen.
  PROCESS_TIMEOUT: false,
  // The command could not be started, unless `details.started` says so.
  PROCESS_FAILED: true,
  // Only in a row: nobody knows how far the call had come.
  PROCESS_DIED: false,
  CAPABILITY_DENIED: true,
  CONTRACT_MANIFEST_INVALID: true,
  CONTRACT_RULE_INVALID: true,
  INVALID_INPUT: true,
  NATIVE_UNAVAILABLE: true,
  // Anywhere, at any time.
  INTERNAL_ERROR: false,
  // What follows comes from the runtime, before a tool is called.
  REPLAY_UNSAFE: true,
  REPLAY_INCOMPLETE: true,
  REPLAY_DIFFERS: true,
  TASK_ENDED: true,
  JOURNAL_LOCATION_INVALID: true,
  JOURNAL_NOT_FOUND: true,
  JOURNAL_OPEN_FAILED: true,
  JOURNAL_REMOVED: true,
  JOURNAL_READ_ONLY: true,
  JOURNAL_NOT_A_DATABASE: true,
  JOURNAL_CORRUPT: true,
  JOURNAL_SCHEMA_MISMATCH: true,
  JOURNAL_DISK_FULL: true,
  JOURNAL_BUSY: true,
  JOURNAL_DUPLICATE_CALL: true,
  JOURNAL_CALL_MISSING: true,
  JOURNAL_CALL_FINISHED: true,
  JOURNAL_TASK_LOCKED: true,
  JOURNAL_LOCK_FAILED: true,
  JOURNAL_ROW_TOO_LARGE: true,
  JOURNAL_ROWS_LOST: true,
  JOURNAL_CLOSED: true,
  JOURNAL_IO_FAILED: true,
  // No built-in tool throws these, and of a tool of one's own nobody knows, whatever it throws.
  THREAD_LOCATION_INVALID: true,
  THREAD_STORE_NOT_FOUND: true,
  THREAD_OPEN_FAILED: true,
  THREAD_REMOVED: true,
  THREAD_READ_ONLY: true,
  THREAD_NOT_A_DATABASE: true,
  THREAD_CORRUPT: true,
  THREAD_SCHEMA_MISMATCH: true,
  THREAD_DISK_FULL: true,
  THREAD_BUSY: true,
  THREAD_LOCK_FAILED: true,
  THREAD_LOCKED: true,
  THREAD_CLOSED: true,
  THREAD_IO_FAILED: true,
  THREAD_NOT_FOUND: true,
  THREAD_CALL_NOT_FOUND: true,
  THREAD_CALL_STATE: true,
  THREAD_DUPLICATE_ID: true,
  THREAD_ATTACHMENT_NOT_FOUND: true,
  THREAD_NAME_REFUSED: true,
  THREAD_KEY_REFUSED: true,
  THREAD_VALUE_REFUSED: true,
  THREAD_ENCODING_INVALID: true,
  THREAD_TOO_LARGE: true,
  THREAD_QUEUE_LIMIT: true,
}

/** Whether a built-in tool that threw this has done nothing. */
export function wasRefused(error: unknown): boolean {
  if (!ToolError.isInstance(error) || error.details['started'] === true) return false
  return Object.hasOwn(isRefusal, error.code) && isRefusal[error.code]
}
