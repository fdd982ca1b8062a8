import type { LanguageModel } from 'ai'
import { checkJournal } from '../../journal/checks.js'
import type { Journal } from '../../journal/journal.js'
import {
  accepted,
  boolean,
  callable,
  type Check,
  checked,
  checkNames,
  type Checks,
  invalid,
  isNames,
  isPlain,
  optional,
  parseOptions,
  paths,
} from '../../core/options.js'
import { parseSandbox } from '../../core/sandbox.js'
import { parseEnvironment } from '../../core/environment.js'
import { checkModel, type SpawnAgent } from './child-agent.js'
import type { ContractTool } from '../registry/contract-tool.js'
import type { RecordPart } from '../journal/session-recorder.js'
import { defaultLimits, type Limits } from '../registry/limits.js'
import { type AgentManifest, checkManifest } from '../agents/manifest.js'
import { checkRuleLists, type Rule, type ScopedRules } from '../permissions/rule.js'
import { findRequirementProblem, type RequirementSet } from '../registry/requirements.js'
import type { AskUser, SessionSandbox } from '../call/scope.js'
import type { Prompt } from '../permissions/prompt.js'
import type { WebRequest, WebResponse } from '../web/dial.js'
import type { HostLookup } from '../web/resolve-host.js'
import { checkProviders, type WebSearchProvider } from '../web/search-provider.js'
import { isShellName } from '../call/shell.js'
import type { ShellName } from '../registry/tool-runtime.js'
import { checkSkillOptions, type SkillOptions } from '../skills/skill-source.js'
import { checkToolOption, type ToolChoice } from '../registry/tool-choice.js'
import { resolveToolSearch, type ToolSearchOptions } from '../registry/tool-catalog.js'
import type { Watchdog } from '../watchdogs/watchdog.js'

/** What a host provides to its sessions. Each function gets a signal that aborts when its answer is no longer needed. */
export interface SessionHost {
  /** Shows a call that needs agreement to the user. Without it, the session has no user. */
  prompt?: Prompt | undefined
  /** Shows questions, and resolves to an array of answers for each. Without it, `question` is unavailable. */
  question?: AskUser | undefined
  /** Runs subagents. @default a `ToolLoopAgent` with the session's model */
  spawn?: SpawnAgent | undefined
  /** Search services; a session keeps to one of them. Without any, `web_search` is unavailable. */
  webSearch?: readonly WebSearchProvider[] | undefined
  /** Resolves names for `web_fetch`. The addresses are checked. @default the system's resolver */
  lookup?: HostLookup | undefined
  /**
   * Makes one request of `web_fetch`, to one of the given addresses and without following redirects, which are checked
   * one by one.
   * @default a connection of its own to these addresses
   */
  fetch?: ((request: WebRequest) => PromiseLike<WebResponse>) | undefined
}

/** Options of `createSession`. */
export interface SessionOptions {
  /** The session's id, and that of its run in a journal. @default a UUIDv7 */
  id?: string | undefined
  /** The roots of the workspace; the first one is where relative paths begin. Empty: no workspace is open. */
  workspace: string | string[]
  /** Directories of files that were opened one by one before it began; see {@link Session.openFile}. @default [] */
  adHoc?: string[] | undefined
  /** Directories besides the workspace in which the manifest may declare roots. @default [] */
  manifestRoots?: string[] | undefined
  /** The host's directory for its user. */
  userData?: string | undefined
  /** What the agent is. */
  manifest: AgentManifest
  /**
   * The agent's own tools, and those of extensions; or which tools there are: `{ only: ['read', 'grep'] }` or
   * `{ except: ['bash'] }`, with the own ones as `own`. A tool that is left out cannot be called, and what it requires is
   * no capability of the session.
   * @default []
   */
  tools?: readonly ContractTool[] | ToolChoice | undefined
  /**
   * Rules besides those of the manifest, which they cannot overrule where it denies. A list, such as `presets.acceptEdits`
   * with more behind it, is the project's; `session` and `project` are rules that the user made before.
   * @default []
   */
  permissions?: readonly Rule[] | ScopedRules | undefined
  /** Called with every rule that the user makes, to store it. */
  onRule?: ((rule: Rule) => void) | undefined
  /** Looks at every call that is within the capabilities, and can refuse it. */
  watchdog?: Watchdog | undefined
  /** What the host provides. */
  host?: SessionHost | undefined
  /** Whether no user can agree to calls or answer questions. @default whether the host has no prompt */
  headless?: boolean | undefined
  /** The upper bound of its access, whatever its manifest and tools require. @default no bound */
  ceiling?: RequirementSet | undefined
  limits?: Partial<Limits> | undefined
  /** How skills are found. @default in the workspace, around it, and in the user's home */
  skills?: SkillOptions | undefined
  /** When tools are hidden behind `tool_search`. @default those of servers and extensions, above 20 tools */
  toolSearch?: ToolSearchOptions | undefined
  /** The servers of `manifest.mcpServers` that the user wants. @default [] */
  enabledMcpServers?: string[] | undefined
  /** The model of subagents without their own, unless the host spawns them. */
  model?: LanguageModel | undefined
  /** Restrictions on the processes of `bash` besides the capabilities. */
  sandbox?: SessionSandbox | undefined
  /**
   * Which shell runs the command lines of `bash`, and so by which grammar they are judged. bash is looked up once,
   * when the session is opened, in this process's PATH; it reads no startup file. With `sh`, what only bash has is
   * refused as `invalid_arguments`, with what to write instead. Subagents have the shell of their parent.
   * @default 'bash' where PATH has one, else 'sh'
   * @throws {ToolError} INVALID_INPUT for `'bash'` if there is none.
   */
  shell?: ShellName | undefined
  /** The journal in which calls are recorded, from `openJournal`. */
  journal?: Journal | undefined
  /** Called when a call begins, and again when it is over, before the model gets the outcome. */
  onRecord?: ((part: RecordPart) => unknown) | undefined
}

/** A check that needs no name: its messages have one. */
const by = <T>(check: (value: unknown) => void): Check<T> => accepted((_, value) => check(value))

const checks: Checks<SessionOptions> = {
  id: optional(
    by((id) => {
      if (typeof id !== 'string' || id === '' || id.includes('\0')) throw invalid('id must be a non-empty string.')
    }),
  ),
  workspace: by((workspace) => {
    if (!isNames(typeof workspace === 'string' ? [workspace] : workspace)) throw invalid('workspace must be a path or an array of paths.')
  }),
  adHoc: optional(by((list) => paths(list, 'adHoc'))),
  manifestRoots: optional(by((list) => paths(list, 'manifestRoots'))),
  userData: optional(
    by((path) => {
      if (!isNames([path])) throw invalid('userData must be a path.')
    }),
  ),
  manifest: by(checkManifest),
  tools: optional(by(checkToolOption)),
  permissions: optional(by(checkRuleLists)),
  onRule: optional(callable()),
  watchdog: optional(callable()),
  host: optional(by(checkHost)),
  headless: optional(boolean),
  ceiling: optional(
    by((ceiling) => {
      const problem = findRequirementProblem(ceiling)
      if (problem !== undefined) throw invalid(`ceiling: ${problem}.`)
    }),
  ),
  limits: optional(by((limits) => checkNames('limits.', limits, Object.keys(defaultLimits)))),
  sandbox: optional(by(checkSessionSandbox)),
  journal: optional(by(checkJournal)),
  onRecord: optional(callable()),
  skills: optional(by(checkSkillOptions)),
  toolSearch: optional(by(resolveToolSearch)),
  enabledMcpServers: optional(
    by((names) => {
      if (!isNames(names)) throw invalid('enabledMcpServers must be names of servers.')
    }),
  ),
  model: optional(accepted(checkModel)),
  shell: optional(
    by((shell) => {
      if (!isShellName(shell)) throw invalid("shell must be 'bash' or 'sh'.")
    }),
  ),
}

/** @throws {ToolError} INVALID_INPUT for invalid and for misspelt options: a misspelt option must not leave open what it was to close. */
export function parseSessionOptions(given: SessionOptions): SessionOptions {
  const options = parseOptions('createSession', given, checks as Record<string, Check<unknown>>) as unknown as SessionOptions
  const { enabledMcpServers = [], manifest } = options
  const unknown = enabledMcpServers.find((name) => !Object.hasOwn(manifest.mcpServers ?? {}, name))
  if (unknown === undefined) return options
  return checked('createSession', () => {
    throw invalid(`enabledMcpServers: manifest.mcpServers has no ${unknown}.`)
  })
}

const hostFunctions = ['lookup', 'fetch', 'prompt', 'question', 'spawn'] as const
const hostNames = ['prompt', 'question', 'spawn', 'webSearch', 'lookup', 'fetch']

function checkHost(host: unknown): void {
  if (typeof host !== 'object' || host === null) throw invalid('host must be an object of functions.')
  // A host may have other functions, but these would never be called there.
  const misplaced = ['watchdog', 'onRule', 'onRecord'].find((name) => name in host)
  if (misplaced !== undefined)
    throw invalid(`${misplaced} is an option of the session, and not of its host, which has ${hostNames.join(', ')}.`)
  // An instance of a class may have fields of its own.
  if (isPlain(host)) checkNames('host.', host, hostNames)
  for (const name of hostFunctions) optional(callable())((host as SessionHost)[name], `host.${name}`)
  checkProviders((host as SessionHost).webSearch)
}

function checkSessionSandbox(sandbox: unknown): void {
  checkNames('sandbox.', sandbox, ['required', 'loopback', 'denyRead', 'denyWrite', 'env'])
  const { env, ...others } = sandbox as SessionSandbox
  parseSandbox(others, 'sandbox')
  if (env !== undefined) parseEnvironment(env, 'sandbox.env')
}
