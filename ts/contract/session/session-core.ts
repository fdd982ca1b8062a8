import type { LanguageModel } from 'ai'
import type { EnvironmentOption } from '../../toolkit/settings.js'
import type { AdHocFiles } from '../permissions/ad-hoc-files.js'
import type { AgentTeam } from './agent-team.js'
import type { SpawnAgent } from './child-agent.js'
import type { RecordPlace, SessionTree } from './lineage.js'
import type { AgentManifest } from '../agents/manifest.js'
import type { McpServers } from '../mcp/mcp-servers.js'
import type { Limits } from '../registry/limits.js'
import type { SessionPolicy } from '../permissions/session-policy.js'
import type { Prompt, PromptQueue } from '../permissions/prompt.js'
import type { Rule } from '../permissions/rule.js'
import type { PermissionRules } from '../permissions/rule-store.js'
import type { AskedQuestion, Todo } from '../registry/tool-runtime.js'
import type { Scratch } from './scratch.js'
import type { SessionCapabilities } from '../permissions/session-capabilities.js'
import type { SessionDirectory } from '../call/session-directory.js'
import type { SessionShell } from '../call/shell.js'
import type { SkillIndex } from '../skills/skill-index.js'
import type { ToolCatalog } from '../registry/tool-catalog.js'
import type { Watchdog } from '../watchdogs/watchdog.js'
import type { WebRequest, WebResponse } from '../web/dial.js'
import type { HostLookup } from '../web/resolve-host.js'
import type { WebSearchProvider } from '../web/search-provider.js'
import type { SessionWeb } from '../web/session-web.js'

/** What a host does for its sessions. Each is told when nobody waits for its answer any more. */
export interface SessionHost {
  /** Shows a call that needs the agreement of the user. Without it the session has no user. */
  prompt?: Prompt | undefined
  /** Shows questions, and gives an array of answers for each. Without it `question` is unavailable. */
  question?:
    | ((
        questions: readonly AskedQuestion[],
        options: { session_id: string; call_id: string; signal: AbortSignal },
      ) => string[][] | PromiseLike<string[][]>)
    | undefined
  /** Runs subagents. @default a `ToolLoopAgent` with the session's model */
  spawn?: SpawnAgent | undefined
  /** Search services; a session keeps to one of them. Without any, `web_search` is unavailable. */
  webSearch?: readonly WebSearchProvider[] | undefined
  /** Looks names up for `web_fetch`. What it gives is checked. @default the system's resolver */
  lookup?: HostLookup | undefined
  /**
   * Makes one request of `web_fetch`, to one of the addresses given and without following redirects: each of
   * them is checked and asked for anew.
   * @default a connection of its own to these addresses
   */
  fetch?: ((request: WebRequest) => PromiseLike<WebResponse>) | undefined
}

/** How the processes of `bash` are held besides what the session's capabilities say. */
export interface SessionSandbox {
  /** Whether a missing layer refuses the command. @default false */
  required?: boolean | undefined
  /** Which of the host's own services a command reaches. @default 'private' */
  loopback?: 'private' | 'none' | 'host' | undefined
  /** Paths that no process reads, whatever the capabilities say. */
  denyRead?: string[] | undefined
  /** Paths that no process writes. */
  denyWrite?: string[] | undefined
  /**
   * The environment of the processes: by default the host's, without what looks like a secret or injects code.
   * `allow` re-admits variables by name, `*` standing for anything in it; `set` gives values, whatever their names are;
   * `'inherit'` passes everything. Subagents have the same.
   * @default {}
   */
  env?: EnvironmentOption | undefined
}

/** What the calls of one session share. */
export interface SessionCore {
  readonly id: string
  readonly manifest: AgentManifest
  /** Absolute and without links. */
  readonly roots: readonly string[]
  /** The ids of the tools that it began with. */
  readonly tools: ReadonlySet<string>
  /** Whether the host wants a tool, also one that comes later. */
  readonly isChosen: (id: string) => boolean
  /** The files that the user has open besides the workspace. */
  readonly adHoc: AdHocFiles
  /** What it may do, while files are opened and closed. */
  readonly capabilities: SessionCapabilities
  /** What it may do now. */
  readonly policy: SessionPolicy
  readonly rules: PermissionRules
  readonly onRule: ((rule: Rule) => void) | undefined
  readonly watchdog: Watchdog | undefined
  readonly host: SessionHost
  /** Whether nobody is there to agree or to answer. */
  readonly headless: boolean
  readonly limits: Readonly<Limits>
  readonly sandbox: SessionSandbox
  /** What reads the command lines of `bash`. */
  readonly shell: SessionShell
  readonly directory: SessionDirectory
  readonly scratch: Scratch
  readonly prompts: PromptQueue
  readonly web: SessionWeb
  /** What its options say and cannot mean. */
  readonly warnings: readonly string[]
  todos: readonly Todo[]
  readonly skills: SkillIndex
  readonly catalog: ToolCatalog
  readonly mcp: McpServers
  /** What subagents run on that have no model of their own. */
  readonly model: LanguageModel | undefined
  /** The agents that it has called. */
  readonly team: AgentTeam
  /** How many agents are above it. */
  readonly depth: number
  readonly tree: SessionTree
  readonly place: RecordPlace
}
