// Written by the build from crates/core/src/code.rs and contract_code.rs: change those.

/** The codes that a built-in tool can also fail with after it has done something. */
export const actedCodes: readonly ToolErrorCode[] = [
  'TOOL_EDIT_CONFLICT',
  'TOOL_IO_FAILED',
  'TOOL_COMMAND_FAILED',
  'PROCESS_TIMEOUT',
  'PROCESS_DIED',
  'OUTCOME_UNKNOWN',
  'FORK_FAILED',
  'INTERNAL_ERROR',
]

/** Which side a failure comes from, and so what the model can do about it. */
export type CodeClass = 'ok' | 'input' | 'refused' | 'unavailable' | 'backend' | 'stopped'

/**
 * Every `metadata.code` of an envelope, with its class:
 *
 * - `input`: the arguments are wrong; other arguments may work;
 * - `refused`: a rule, a user or the host does not want the call to be made;
 * - `unavailable`: what the call needs is absent, whatever its arguments are;
 * - `backend`: the call was made and went wrong;
 * - `stopped`: the call was stopped from outside.
 */
export const contractCodes = {
  /** The call did what it should. */
  ok: 'ok',
  /** The arguments do not fit the tool's schema, or contradict each other. */
  invalid_arguments: 'input',
  /** No tool of the session has this id. */
  unknown_tool: 'input',
  /** Nothing exists at the path. */
  not_found: 'input',
  /** The path is a directory, a pipe, a device. */
  not_a_file: 'input',
  /** A component of the path is a file. */
  not_a_directory: 'input',
  /** The file is not text. */
  binary_file: 'input',
  /** More text than the host lets a call take or give. */
  too_large: 'input',
  /** The text to replace is not in the file. */
  conflict: 'input',
  /** The text to replace is in the file more than once. */
  ambiguous: 'input',
  /** The pattern is malformed. */
  invalid_pattern: 'input',
  /** Outside of the capabilities of the session. */
  capability_refused: 'refused',
  /** A permission rule says no. */
  permission_denied: 'refused',
  /** The user would have to be asked, and no one is there. */
  permission_unattended: 'refused',
  /** The user said no. */
  permission_rejected: 'refused',
  /** The user did not answer in time. */
  permission_timeout: 'refused',
  /** The watchdog says no, failed, or did not answer in time. */
  watchdog_denied: 'refused',
  /** The sandbox of the operating system says no. */
  sandbox_refused: 'refused',
  /** The host does not offer what the tool needs. */
  unavailable: 'unavailable',
  /** The session's calls of this tool are used up. */
  limit_reached: 'unavailable',
  /** No one is there to answer a question. */
  question_unavailable: 'unavailable',
  /** The session has been closed. */
  session_closed: 'unavailable',
  /** The call could not be recorded, and so was not made. */
  recording_failed: 'unavailable',
  /** The tool failed. */
  tool_failed: 'backend',
  /** The system failed to read or write. */
  io_failed: 'backend',
  /** A host could not be reached, or what it answers cannot be used. */
  network_failed: 'backend',
  /** The user that runs the session may not do this. */
  os_denied: 'backend',
  /** Another program changed the file meanwhile. */
  stale: 'backend',
  /** Too many calls wait for the same file. */
  busy: 'backend',
  /** The tool gave something that JSON cannot hold. */
  invalid_output: 'backend',
  /** The host's answer to a question does not fit the question. */
  invalid_answer: 'backend',
  /** It took too long. */
  timeout: 'stopped',
  /** It was aborted. */
  aborted: 'stopped',
  /** The process died during the call: how far it had come is unknown. */
  interrupted: 'stopped',
} as const satisfies Record<string, CodeClass>

/** The `metadata.code` of an envelope. */
export type ContractCode = keyof typeof contractCodes

/** Every code of a {@link ToolError}, with that of the envelope it becomes. */
export const contractCodeOf = {
  TOOL_PATH_INVALID: 'invalid_arguments',
  TOOL_PATH_ESCAPE: 'capability_refused',
  TOOL_FILE_NOT_FOUND: 'not_found',
  TOOL_FILE_EXISTS: 'conflict',
  TOOL_NOT_A_FILE: 'not_a_file',
  TOOL_NOT_A_DIRECTORY: 'not_a_directory',
  TOOL_PERMISSION_DENIED: 'os_denied',
  TOOL_ROOT_INVALID: 'unavailable',
  TOOL_ROOT_CHANGED: 'unavailable',
  TOOL_FILE_TOO_LARGE: 'too_large',
  TOOL_CONTENT_TOO_LARGE: 'too_large',
  TOOL_PATCH_TOO_LARGE: 'tool_failed',
  TOOL_FILE_BINARY: 'binary_file',
  TOOL_PATCH_FAILED: 'tool_failed',
  TOOL_EDIT_CONFLICT: 'stale',
  TOOL_FILE_CHANGED: 'stale',
  TOOL_EDIT_NO_MATCH: 'conflict',
  TOOL_EDIT_AMBIGUOUS: 'ambiguous',
  TOOL_FILE_BUSY: 'busy',
  TOOL_PATH_PROTECTED: 'sandbox_refused',
  TOOL_REPLACE_REFUSED: 'io_failed',
  TOOL_IO_FAILED: 'io_failed',
  TOOL_GREP_FAILED: 'invalid_pattern',
  TOOL_COMMAND_FAILED: 'tool_failed',
  TOOL_NETWORK_DISABLED: 'sandbox_refused',
  TOOL_GIT_REMOTE_DISABLED: 'sandbox_refused',
  TOOL_GRANT_REFUSED: 'sandbox_refused',
  TOOL_LANGUAGE_SERVER_FAILED: 'unavailable',
  TOOL_SANDBOX_UNAVAILABLE: 'unavailable',
  PROCESS_TIMEOUT: 'timeout',
  PROCESS_FAILED: 'tool_failed',
  PROCESS_DIED: 'tool_failed',
  PROCESS_NOT_FOUND: 'not_found',
  PROCESS_ENDED: 'conflict',
  PROCESS_BUSY: 'busy',
  PROCESS_LIMIT: 'unavailable',
  REPLAY_UNSAFE: 'tool_failed',
  REPLAY_INCOMPLETE: 'tool_failed',
  REPLAY_DIFFERS: 'tool_failed',
  OUTCOME_UNKNOWN: 'tool_failed',
  TASK_ENDED: 'tool_failed',
  JOURNAL_LOCATION_INVALID: 'tool_failed',
  JOURNAL_NOT_FOUND: 'tool_failed',
  JOURNAL_OPEN_FAILED: 'tool_failed',
  JOURNAL_REMOVED: 'tool_failed',
  JOURNAL_READ_ONLY: 'tool_failed',
  JOURNAL_NOT_A_DATABASE: 'tool_failed',
  JOURNAL_CORRUPT: 'tool_failed',
  JOURNAL_SCHEMA_MISMATCH: 'tool_failed',
  JOURNAL_DISK_FULL: 'tool_failed',
  JOURNAL_BUSY: 'tool_failed',
  JOURNAL_DUPLICATE_CALL: 'tool_failed',
  JOURNAL_CALL_MISSING: 'tool_failed',
  JOURNAL_CALL_FINISHED: 'tool_failed',
  JOURNAL_TASK_LOCKED: 'tool_failed',
  JOURNAL_LOCK_FAILED: 'tool_failed',
  JOURNAL_ROW_TOO_LARGE: 'tool_failed',
  JOURNAL_OWNER_FENCED: 'tool_failed',
  JOURNAL_UNREACHABLE: 'tool_failed',
  JOURNAL_ROWS_LOST: 'tool_failed',
  JOURNAL_CLOSED: 'tool_failed',
  JOURNAL_IO_FAILED: 'tool_failed',
  CHECKPOINT_NOT_FOUND: 'not_found',
  CHECKPOINT_CALL_UNKNOWN: 'not_found',
  CHECKPOINT_CONFLICT: 'conflict',
  CHECKPOINT_RESTORE_FAILED: 'tool_failed',
  CHECKPOINT_STORE_INSIDE: 'tool_failed',
  CHECKPOINT_OTHER_ROOT: 'tool_failed',
  CHECKPOINT_TOO_LARGE: 'too_large',
  CHECKPOINT_DISK_FULL: 'tool_failed',
  CHECKPOINT_BUSY: 'tool_failed',
  CHECKPOINT_CORRUPT: 'tool_failed',
  CHECKPOINT_CLOSED: 'tool_failed',
  CHECKPOINT_STORE_FAILED: 'tool_failed',
  FORK_UNAVAILABLE: 'unavailable',
  FORK_NOT_FOUND: 'not_found',
  FORK_BUSY: 'busy',
  FORK_DAMAGED: 'tool_failed',
  FORK_CHANGE_NOT_FOUND: 'not_found',
  FORK_CONFLICT: 'conflict',
  FORK_FULL: 'too_large',
  FORK_NOT_APPLIED: 'not_found',
  FORK_CLOSED: 'tool_failed',
  FORK_FAILED: 'io_failed',
  THREAD_LOCATION_INVALID: 'tool_failed',
  THREAD_STORE_NOT_FOUND: 'tool_failed',
  THREAD_OPEN_FAILED: 'tool_failed',
  THREAD_REMOVED: 'tool_failed',
  THREAD_READ_ONLY: 'tool_failed',
  THREAD_NOT_A_DATABASE: 'tool_failed',
  THREAD_CORRUPT: 'tool_failed',
  THREAD_SCHEMA_MISMATCH: 'tool_failed',
  THREAD_DISK_FULL: 'tool_failed',
  THREAD_BUSY: 'tool_failed',
  THREAD_LOCK_FAILED: 'tool_failed',
  THREAD_LOCKED: 'tool_failed',
  THREAD_CLOSED: 'tool_failed',
  THREAD_IO_FAILED: 'tool_failed',
  THREAD_NOT_FOUND: 'tool_failed',
  THREAD_CALL_NOT_FOUND: 'tool_failed',
  THREAD_CALL_STATE: 'tool_failed',
  THREAD_DUPLICATE_ID: 'tool_failed',
  THREAD_ATTACHMENT_NOT_FOUND: 'tool_failed',
  THREAD_NAME_REFUSED: 'tool_failed',
  THREAD_KEY_REFUSED: 'tool_failed',
  THREAD_VALUE_REFUSED: 'tool_failed',
  THREAD_ENCODING_INVALID: 'tool_failed',
  THREAD_TOO_LARGE: 'tool_failed',
  THREAD_QUEUE_LIMIT: 'tool_failed',
  CAPABILITY_DENIED: 'capability_refused',
  TOOL_REFUSED_BY_HOOK: 'watchdog_denied',
  CONTRACT_MANIFEST_INVALID: 'tool_failed',
  CONTRACT_RULE_INVALID: 'tool_failed',
  TOOL_TARGET_CLOSED: 'tool_failed',
  INVALID_INPUT: 'invalid_arguments',
  NATIVE_UNAVAILABLE: 'unavailable',
  INTERNAL_ERROR: 'tool_failed',
} as const satisfies Record<string, ContractCode>

/** A stable name for a kind of failure, for programs to decide by. */
export type ToolErrorCode = keyof typeof contractCodeOf

/**
 * Every code a {@link ToolError} can have. Each is described, with its cause and the next move, in
 * `docs/errors.md`.
 */
export const toolErrorCodes = Object.keys(contractCodeOf) as readonly ToolErrorCode[]
