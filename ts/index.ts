/** `toolwright`: the built-in tools, `defineTool`, and what configures them. */
export {
  apply_patch,
  createTools,
  type CreateToolsOptions,
  type ExtraToolName,
  type ExtraTools,
  type StreamingToolwrightTools,
  type ToolsWithLanguageServers,
  type ToolsWithProcesses,
  type ToolwrightTools,
} from './toolkit/create-tools.js'
export { type AppliedPatch, applyPatch, type ApplyPatchInput, type ApplyPatchTool } from './toolkit/tools/apply-patch.js'
export type { LspInput, LspTool } from './toolkit/tools/lsp.js'
export type { KnownServer, LanguageServerConfig } from './language-servers/known-servers.js'
export type { LanguageServerOptions } from './language-servers/options.js'
export type { LspAction } from './language-servers/queries.js'
export type { ProcessTools } from './toolkit/tools/processes.js'
export { detachProcess, resumeProcesses } from './toolkit/tools/detach.js'
export { type DetachedProcess, detachedProcesses, endDetachedProcesses } from './core/processes/detached-processes.js'
export type {
  ProcessKey,
  ProcessReadArguments,
  ProcessReport,
  ProcessStartArguments,
  ProcessStopArguments,
  ProcessWriteArguments,
} from './core/processes/process-report.js'
export type { StreamingBashTool } from './toolkit/tools/bash.js'
export type { BashGrant, GrantDecision, GrantQuestion, OnGrant } from './toolkit/grants.js'
export type { NetworkGuard } from './core/network-guard/guard-network.js'
export { toolErrorCodes, type ToolErrorCode } from './core/codes.js'
export { ToolError, type ToolErrorOptions } from './core/errors.js'
export type { ToolwrightMetadata } from './core/tool-metadata.js'
export { needsApproval, type ToolApproval, type ToolApprovalAnswer } from './core/tool-approval.js'
export { type ApprovalPolicy, approvals } from './toolkit/approvals.js'
export { configureTools } from './toolkit/settings.js'
export { type ToolOptions } from './toolkit/settings.js'
export type { Awaitable } from './core/abort.js'
export type {
  CallDoor,
  CallMessage,
  CallOutput,
  CommandMessage,
  JournalMessage,
  PermissionMessage,
  SearchMessage,
  StepMessage,
} from './core/call-message.js'
export type { EnvironmentOption } from './core/environment.js'
export type { MaskChoice, MaskOption } from './core/mask.js'
export type { CredentialRule, SandboxCredential } from './core/sandbox-credentials.js'
export type { SandboxSshKey } from './core/sandbox-ssh-keys.js'
export type { HostDecision, HostQuestion, SandboxHosts } from './core/sandbox-hosts.js'
export type { SandboxLimits, SandboxOptions } from './core/sandbox.js'
export { sandboxReport, type SandboxHold, type SandboxLevel, type SandboxReport } from './toolkit/sandbox-report.js'
export type { Journal, OnJournalFailure, TailOptions } from './journal/journal.js'
export type {
  CallClaim,
  ClaimedCall,
  ClaimOptions,
  JournalStore,
  ListOptions,
  ListRunOptions,
  ListRunsOptions,
  NewToolCall,
  ReadRows,
  RecoveredCalls,
  RevertClaim,
  RunSummary,
  TaskId,
  TaskLock,
  TaskStart,
  ToolCallEnd,
  ToolCallKey,
  ToolCallRef,
  ToolCallRow,
  ToolCallStatus,
} from './journal/journal-store.js'
export {
  collectForks,
  type CollectForksOptions,
  listForks,
  type ListForksOptions,
  openFork,
  type OpenForkOptions,
  undoFork,
  type UndoStoredForkOptions,
} from './fork/open-fork.js'
export type {
  AppliedFork,
  ApplyForkOptions,
  CollectedForks,
  Fork,
  ForkChange,
  ForkDiff,
  ForkDiffOptions,
  ForkLeftOut,
  ForkSide,
  ForkStatus,
  ForkStatusOptions,
  ListedFork,
  UndoForkOptions,
  UndoneFork,
} from './fork/fork.js'
export { openCheckpoints, type OpenCheckpointsOptions } from './journal/checkpoints/open-checkpoints.js'
export type {
  Checkpoint,
  CheckpointChange,
  CheckpointConflict,
  CheckpointDiff,
  CheckpointList,
  CheckpointProgress,
  Checkpoints,
  CollectCheckpointsOptions,
  CollectedCheckpoints,
  DiffCheckpointsOptions,
  ListCheckpointsOptions,
  ListedCheckpoint,
  ListedRestore,
  RestoreCheckpointOptions,
  RestoredCheckpoint,
  TakeCheckpointOptions,
  TrackOptions,
  UndoTarget,
} from './journal/checkpoints/checkpoints.js'
export { openJournal, type OpenJournalOptions } from './postgres/open-journal.js'
export { replayRun, type ReplayedCall, type ReplayRunOptions, type RunReplay } from './toolkit/task/replay-run.js'
export type { AfterCall, BeforeCall, EndedCall, HookedCall, ToolArguments, ToolResults } from './toolkit/hooked-calls.js'
export { revertRun, type RevertedCall, type RevertRunOptions } from './toolkit/task/revert-run.js'
export { runTask, type RunTaskOptions } from './toolkit/task/run-task.js'
export type { Task, WarningMessage } from './toolkit/task/task.js'
export * from './tools.js'
