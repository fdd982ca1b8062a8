/** `toolwright`: the built-in tools, `defineTool`, and what configures them. */
export { createTools, type ToolwrightTools } from './create-tools.js'
export { ToolError, toolErrorCodes, type ToolErrorCode, type ToolErrorOptions } from './errors.js'
export { configureTools, type ToolOptions } from './settings.js'
export * from './tools.js'
