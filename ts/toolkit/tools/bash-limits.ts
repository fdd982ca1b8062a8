/** The most arguments one command may have. */
export const BASH_TOOL_MAX_ARGS = 128
/** The longest argument, in UTF-16 code units. */
export const BASH_TOOL_MAX_ARG_LENGTH = 8192
/** The longest executable name or path, in UTF-16 code units. */
export const BASH_TOOL_MAX_COMMAND_LENGTH = 8192
/** The longest working directory, in UTF-16 code units. */
export const BASH_TOOL_MAX_CWD_LENGTH = 1024
/** The highest `maxOutputBytes`. */
export const BASH_TOOL_MAX_OUTPUT_BYTES = 10_485_760
/** The highest timeout: one hour. */
export const BASH_TOOL_MAX_TIMEOUT_MS = 3_600_000
