/** `toolwright/standard-agents`: `defineTool` of Standard Agents, and threads on local storage. */
export { toContractTool, type ContractToolOptions, type ThreadToolData } from './standard-agents/tools/contract-tool.js'
export type { CreateThreadOptions } from './standard-agents/thread/create-thread.js'
export { defineTool } from './standard-agents/tools/define-tool.js'
export { loadTools, type LoadedTools, type LoadToolsOptions } from './standard-agents/discovery/load-tools.js'
export type { ToolLoadError } from './standard-agents/discovery/tool-files.js'
export type { OpenThreadStoreOptions } from './standard-agents/store/open-thread-store.js'
export { createThread, openThreadStore } from './postgres/threads/open-threads.js'
export type { AttachmentRef } from './standard-agents/store/stored-records.js'
export type { DurableObjectStorage, StorageListOptions, ThreadStorage } from './standard-agents/store/thread-storage.js'
export type { ThreadStore } from './standard-agents/store/thread-store.js'
export type { Agent, Env, Message, ThreadEvent, ThreadMessage, ThreadState } from './standard-agents/thread/thread-state.js'
export type {
  AgentToolsOptions,
  CallOptions,
  CallOutcome,
  ChildStateOptions,
  ListOptions,
  QueuedCall,
  Thread,
  ThreadAttachments,
  ThreadMessages,
} from './standard-agents/thread/thread.js'
export { emitThreadEvent } from './standard-agents/thread/emit-thread-event.js'
export { queueTool } from './standard-agents/thread/queue-tool.js'
export type { OnInterrupted } from './standard-agents/thread/thread-parts.js'
export type { ToolArgs, ToolArgsNode, ToolTenvs } from './standard-agents/tools/tool-args.js'
export type {
  AnyTool,
  DefineToolOptions,
  ExecutionMode,
  NamedTools,
  Tool,
  ToolDefinition,
} from './standard-agents/tools/tool-definition.js'
export type { ToolAttachment, ToolResult } from './standard-agents/tools/tool-result.js'
export { watchTools, type WatchedTools, type WatchToolsOptions } from './standard-agents/discovery/watch-tools.js'
