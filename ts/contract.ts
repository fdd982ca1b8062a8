/** `toolwright/contract`: the locked tools, capabilities, permissions and envelopes. */
export { createSession } from './contract/session/create-session.js'
export type { CallOptions } from './contract/call/run-call.js'
export type { PrepareStep, Session, SessionForks } from './contract/session/session.js'
export type { SessionOptions, SessionHost } from './contract/session/session-options.js'
export type { AfterContractCall, BeforeContractCall, HookedContractCall, SessionSandbox } from './contract/call/scope.js'
export type {
  ShellName,
  TaskArguments,
  TaskData,
  TaskFork,
  TranscriptEntry,
  AskedQuestion,
  Todo,
  CommandEnd,
  DataImage,
  DocumentPart,
  FileText,
  FileWritten,
  GrepMatch,
  Listing,
  MatchListing,
  ProjectManifest,
  TreeOverview,
  RuntimeFiles,
  RuntimeMcp,
  RuntimeNet,
  RuntimeProcesses,
  RuntimeSession,
  RuntimeShell,
  ToolRuntime,
  FetchOptions,
  PatchedFile,
  WebPage,
  WebSearchResult,
  ToolMatch,
} from './contract/registry/tool-runtime.js'
export {
  builtInTools,
  type BuiltInArguments,
  type BuiltInData,
  type SessionToolSet,
  type ToolData,
} from './contract/tools/built-in-tools.js'
export { repoOverviewTool, type RepoOverviewArguments, type RepoOverviewData } from './contract/tools/repo-overview.js'
export type { AgentDefinition, AgentManifest } from './contract/agents/manifest.js'
export { CALLER_IS_AGENT, loopAgent, type ChildAgent, type SpawnAgent } from './contract/session/child-agent.js'
export type { McpHttpServer, McpServerConfig, McpStdioServer } from './contract/mcp/server-config.js'
export type { McpServerState } from './contract/mcp/mcp-servers.js'
export type { McpSandbox } from './contract/mcp/server-sandbox.js'
export type { McpOutput, McpPart } from './contract/mcp/tool-output.js'
export type { SkillEntry } from './contract/skills/skill-index.js'
export type { SkillOptions, SkillSource } from './contract/skills/skill-source.js'
export type { ToolChoice } from './contract/registry/tool-choice.js'
export type { ToolSearchOptions } from './contract/registry/tool-catalog.js'
export {
  defineContractTool,
  type CallTarget,
  type ContractTool,
  type FileAccess,
  type JsonSchema,
} from './contract/registry/contract-tool.js'
export {
  isLockedToolId,
  lockedToolIds,
  acpToolKind,
  acpToolKinds,
  type LockedToolId,
  type AcpToolKind,
} from './contract/registry/tool-ids.js'
export {
  contractCodes,
  ContractFailure,
  type CodeClass,
  type ContractCode,
  type Envelope,
  type Metadata,
} from './contract/registry/envelope.js'
export { defaultLimits, type Limits } from './contract/registry/limits.js'
export type {
  ArgPattern,
  CapabilityName,
  HostPattern,
  PathPattern,
  RequirementSet,
  RequirementVariables,
  SessionRequirements,
  ShellRunRequirement,
} from './contract/registry/requirements.js'
export {
  compileManifest,
  evaluatePermission,
  type CompiledManifest,
  type EvaluatedCall,
  type ManifestVariables,
} from './contract/agents/compile-manifest.js'
export {
  presets,
  type PermissionAction,
  type Rule,
  type RuleSource,
  type ScopedRules,
  type StoredRule,
} from './contract/permissions/rule.js'
export type { PermissionVerdict, Subject, SubjectVerdict } from './contract/permissions/rule-store.js'
export type { ToolwrightMetadata } from './core/tool-metadata.js'
export { needsApproval, type ToolApproval, type ToolApprovalAnswer } from './core/tool-approval.js'
export type { JudgedSubject, Judgement } from './contract/call/judgement.js'
export type { Prompt, PromptAnswer, PromptDecision, PromptRequest } from './contract/permissions/prompt.js'
export {
  allWatchdogs,
  type Verdict,
  type Watchdog,
  type WatchedCall,
  type WatchedCommand,
  type WatchedRedirect,
} from './contract/watchdogs/watchdog.js'
export { networkWatchdog } from './contract/watchdogs/network-words.js'
export { commandWatchdog, type CommandWatchdogOptions } from './contract/watchdogs/command-policy.js'
export { QUESTION_HEADLESS_MESSAGE } from './contract/call/questions.js'
export type { ReadArguments, ReadData } from './contract/tools/read.js'
export type { WriteArguments, WriteData } from './contract/tools/write.js'
export type { EditArguments, EditData } from './contract/tools/edit.js'
export { applyPatchTool, type ApplyPatchArguments, type ApplyPatchData } from './contract/tools/apply-patch.js'
export { processTools } from './contract/tools/processes.js'
export { type DetachedProcess, detachedProcesses, endDetachedProcesses } from './core/processes/detached-processes.js'
export type {
  ProcessKey,
  ProcessReadArguments,
  ProcessReport,
  ProcessStartArguments,
  ProcessStopArguments,
  ProcessWriteArguments,
} from './core/processes/process-report.js'
export type { GlobArguments, GlobData, GrepArguments, GrepData } from './contract/tools/searches.js'
export type { BashArguments, BashData } from './contract/tools/bash.js'
export type {
  QuestionArguments,
  QuestionData,
  SkillArguments,
  SkillData,
  TodoArguments,
  TodoData,
  ToolSearchArguments,
  ToolSearchData,
} from './contract/tools/session.js'
export type { WebFetchArguments, WebFetchData, WebSearchArguments, WebSearchData } from './contract/tools/web.js'
export type { WebRequest, WebResponse } from './contract/web/dial.js'
export type { HostLookup } from './contract/web/resolve-host.js'
export type { WebSearchProvider } from './contract/web/search-provider.js'
export { brave, type BraveOptions, searxng, type SearxngOptions, tavily, type TavilyOptions } from './contract/web/providers.js'
export { SESSION_NODE, type RecordPart } from './contract/journal/session-recorder.js'
export { replaySession, type ReplayedEnvelope, type ReplaySessionOptions, type SessionReplay } from './contract/journal/replay-session.js'
export {
  toAcpToolCall,
  type AcpTerminal,
  type AcpImage,
  type AcpText,
  type AcpToolCall,
  type AcpToolCallContent,
  type AcpToolCallContentV2,
  type AcpToolCallOptions,
  type AcpToolCallV2,
  type SessionToolCall,
} from './contract/acp/tool-call.js'
export type { AcpDiff, AcpDiffChange, AcpDiffV2 } from './contract/acp/diffs.js'
export type { ZedTerminal } from './contract/acp/terminal.js'
export {
  fromAcpPermission,
  toAcpPermissionRequest,
  type AcpPermissionOption,
  type AcpPermissionRequest,
  type AcpPermissionRequestV2,
  type AcpPermissionResponse,
} from './contract/acp/permission.js'
export {
  fromAcpElicitation,
  toAcpElicitation,
  type AcpElicitationRequest,
  type AcpElicitationResponse,
  type AcpFormField,
} from './contract/acp/elicitation.js'
export { toAcpPlan, type AcpPlanEntry, type AcpPlanUpdate } from './contract/acp/plan.js'
export { acpHost } from './contract/acp/host.js'
export { acpUpdates, type AcpUpdates } from './contract/acp/updates.js'
export type { AcpSessionOptions } from './contract/acp/options.js'
export type { AcpClient, AcpClientCapabilities } from './contract/acp/client.js'
export type { CallObserver, ObservedCall } from './contract/call/call-observers.js'
