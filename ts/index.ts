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
export type { SandboxLimits, SandboxOptions } from './sandbox.js'
export { sandboxReport, type SandboxHold, type SandboxLevel, type SandboxReport } from './sandbox-report.js'
export * from './tools.js'
