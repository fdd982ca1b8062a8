import type { Awaitable } from '../../core/abort.js'
import type { Fork } from '../../fork/fork.js'
import type { Envelope } from '../registry/envelope.js'
import type { AfterDecision, BeforeDecision } from '../../core/call-hooks.js'
import type { Slots } from '../../core/abort.js'
import type { EnvironmentOption } from '../../core/environment.js'
import type { MaskOption } from '../../core/mask.js'
import type { SandboxHosts } from '../../core/sandbox-hosts.js'
import type { SeenFiles } from '../../journal/seen-files.js'
import type { AgentManifest } from '../agents/manifest.js'
import type { McpServers } from '../mcp/mcp-servers.js'
import type { AdHocFiles } from '../permissions/ad-hoc-files.js'
import type { Prompt } from '../permissions/prompt.js'
import type { Rule } from '../permissions/rule.js'
import type { RuleStore } from '../permissions/rule-store.js'
import type { ContractAddon, SessionCapabilities } from '../permissions/session-capabilities.js'
import type { Limits } from '../registry/limits.js'
import type { AskedQuestion, TaskArguments, TaskData, Todo, ToolMatch } from '../registry/tool-runtime.js'
import type { SkillIndex } from '../skills/skill-index.js'
import type { Watchdog } from '../watchdogs/watchdog.js'
import type { WebRequest, WebResponse } from '../web/dial.js'
import type { HostLookup } from '../web/resolve-host.js'
import type { SessionWeb } from '../web/session-web.js'
import type { Approvals } from './approvals.js'
import type { SessionCheckpoints } from './session-checkpoints.js'
import type { SessionDirectory } from './session-directory.js'
import type { SessionProcesses } from './session-processes.js'
import type { SessionDocuments } from './session-documents.js'
import type { SessionFormatters } from './session-formatters.js'
import type { SessionServers } from './session-servers.js'
import type { SessionShell } from './shell.js'

/** Restrictions on the processes of `bash` besides the session's capabilities. */
export interface SessionSandbox {
  /** Whether a missing layer refuses the command. @default false */
  required?: boolean | undefined
  /**
   * Hosts that commands reach by name, as far as the capabilities open them too (`net.hosts`). `{ allow: ['*'] }` stands for
   * all that these open. Hosts of `ask` go to the rules and the prompt, as those of `web_fetch` do. Without it, commands have the whole network if `net.hosts` is `['*']`, and none otherwise.
   */
  network?: Omit<SandboxHosts, 'onAsk'> | undefined
  /** Which of the host's own services a command reaches. @default 'private' */
  loopback?: 'private' | 'none' | 'host' | undefined
  /** Paths that no process reads, whatever the capabilities say. */
  denyRead?: string[] | undefined
  /** Paths that no process writes. */
  denyWrite?: string[] | undefined
  /**
   * What becomes of git directories that commands make, as for `createTools`. `strict` keeps what git on the host would obey
   * away from it while they run, too. @default 'forked'
   */
  git?: 'forked' | 'strict' | undefined
  /**
   * The environment of the processes: by default the host's, without what looks like a secret or injects code.
   * `allow` re-admits variables by name, with `*` for any text; `set` gives values, whatever their names are;
   * `'inherit'` passes everything. Subagents get the same environment.
   * @default {}
   */
  env?: EnvironmentOption | undefined
}

/** Shows questions to the user, and resolves to an array of answers for each. */
export type AskUser = (
  questions: readonly AskedQuestion[],
  options: { session_id: string; call_id: string; signal: AbortSignal },
) => string[][] | PromiseLike<string[][]>

/** A call as hooks of a session see it. */
export interface HookedContractCall {
  session_id: string
  call_id: string
  /** The id of the tool. */
  tool: string
  /** Frozen. */
  args: Readonly<Record<string, unknown>>
  signal: AbortSignal
}

/** Sees a call before it is checked, and may refuse it or give it other arguments. */
export type BeforeContractCall = (call: HookedContractCall) => Awaitable<BeforeDecision<Record<string, unknown>>>

/** Sees a call that has ended, and may give it other data. */
export type AfterContractCall = (call: HookedContractCall & { envelope: Envelope }) => Awaitable<AfterDecision>

/** What the host of a session provides to its calls. */
export interface Host {
  readonly sessionId: string
  readonly manifest: AgentManifest
  /** Whether no user can agree to calls or answer questions. */
  readonly headless: boolean
  readonly limits: Readonly<Limits>
  readonly sandbox: SessionSandbox
  /** What is masked in outputs of commands. */
  readonly mask: MaskOption
  readonly shell: SessionShell
  /** What becomes of a command of `bash` at its timeout. */
  readonly onTimeout: 'stop' | 'background'
  /** Between which calls that change files are made. */
  readonly checkpoints: SessionCheckpoints | undefined
  /** The language servers of the session and its subagents. */
  readonly languageServers: SessionServers | undefined
  /** The formatters of the session and its subagents. */
  readonly formatters: SessionFormatters | undefined
  /** What shows documents to the session and its subagents. */
  readonly documents: SessionDocuments | undefined
  /** The files that the model has seen. */
  readonly seen: SeenFiles | undefined
  readonly watchdog: Watchdog | undefined
  readonly before: BeforeContractCall | undefined
  readonly after: AfterContractCall | undefined
  readonly prompt: Prompt | undefined
  readonly question: AskUser | undefined
  readonly lookup: HostLookup | undefined
  readonly fetch: ((request: WebRequest) => PromiseLike<WebResponse>) | undefined
  readonly onRule: ((rule: Rule) => void) | undefined
}

/** What the calls of a session may do. */
export interface Access {
  readonly addon: ContractAddon
  /** The roots of the workspace: absolute and without links. */
  readonly roots: readonly string[]
  /** The fork that calls work in, in the place of the directory that the roots lie in. */
  readonly fork: Fork | undefined
  /** The files that the user has opened besides the workspace. */
  readonly adHoc: AdHocFiles
  /** The ids of the tools that the session began with. */
  readonly tools: ReadonlySet<string>
  readonly capabilities: SessionCapabilities
  readonly rules: RuleStore
  readonly prompts: Slots
}

export interface Scope {
  readonly host: Host
  readonly access: Access
  /** Questions that are answered in a later request. */
  readonly approvals: Approvals
  /** Outputs that are too long for an envelope. */
  readonly directory: SessionDirectory
  /** The path of the directory for files outside the workspace. */
  readonly scratch: string
  readonly web: SessionWeb
  readonly skills: SkillIndex
  readonly mcp: McpServers
  /** The processes of the session. */
  readonly processes: SessionProcesses
  readonly todos: { current: readonly Todo[] }
  readonly searchTools: (query: string, signal: AbortSignal) => Promise<ToolMatch[]>
  readonly runTask: (task: TaskArguments, call: { callId: string; signal: AbortSignal }) => Promise<TaskData>
}
