/** `toolwright`: the built-in tools, `defineTool`, and what configures them. */
export {
  createTools,
  type CreateToolsOptions,
  type StreamingToolwrightTools,
  type ToolwrightTools,
} from './create-tools.js'
export type { StreamingBashTool } from './tools/bash.js'
export type { NetworkGuard } from './tools/network-guard/guard-network.js'
export { ToolError, toolErrorCodes, type ToolErrorCode, type ToolErrorOptions } from './errors.js'
export { configureTools, type EnvironmentOption, type ToolOptions } from './settings.js'
export * from './tools.js'
