import type { LanguageModel } from 'ai'
import { type LanguageServerOptions, parseLanguageServers } from '../../language-servers/options.js'
import { checkCheckpoints, checkJournal } from '../../journal/checks.js'
import type { Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import type { Journal } from '../../journal/journal.js'
import { type UnseenChanges, unseenChanges } from '../../journal/seen-files.js'
import {
  boolean,
  callable,
  type Check,
  checked,
  type Checks,
  group,
  invalid,
  isNames,
  listOf,
  must,
  oneOf,
  optional,
  type Parsed,
  parseOptions,
  path,
  paths,
  text,
} from '../../core/options.js'
import { parseEnvironment } from '../../core/environment.js'
import { forkedPath } from '../../core/grants.js'
import { type MaskOption, parseMask } from '../../core/mask.js'
import { protectedPaths } from '../../core/protected-places.js'
import { checkGit, checkNetwork } from '../../core/sandbox.js'
import { hostsOfSession } from '../../core/sandbox-hosts.js'
import { checkModel, type SpawnAgent } from './child-agent.js'
import type { ContractTool } from '../registry/contract-tool.js'
import type { RecordPart } from '../journal/session-recorder.js'
import { allLimits, defaultLimits, type Limits } from '../registry/limits.js'
import { agentManifest, type AgentManifest } from '../agents/manifest.js'
import { type Rule, ruleLists, type ScopedRules } from '../permissions/rule.js'
import { requirementSet, type RequirementSet } from '../registry/requirements.js'
import type { AfterContractCall, AskUser, BeforeContractCall, SessionSandbox } from '../call/scope.js'
import type { Prompt } from '../permissions/prompt.js'
import type { WebRequest, WebResponse } from '../web/dial.js'
import type { HostLookup } from '../web/resolve-host.js'
import { searchProviders, type WebSearchProvider } from '../web/search-provider.js'
import type { ShellName } from '../registry/tool-runtime.js'
import { skillOptions, type SkillOptions } from '../skills/skill-source.js'
import type { ResultForm } from '../registry/model-tools.js'
import { type ToolChoice, toolOption } from '../registry/tool-choice.js'
import { toolSearchOptions, type ToolSearchOptions } from '../registry/tool-catalog.js'
import type { Watchdog } from '../watchdogs/watchdog.js'
import type { Fork } from '../../fork/fork.js'

/** What a host provides to its sessions. Each function gets a signal that aborts when its answer is no longer needed. */
export interface SessionHost {
  /** Asks the user about a call. Without it, the session has no user. */
  prompt?: Prompt | undefined
  /** Shows questions, and resolves to an array of answers for each. Without it, `question` is unavailable. */
  question?: AskUser | undefined
  /** Runs subagents. @default a `ToolLoopAgent` with the session's model */
  spawn?: SpawnAgent | undefined
  /** Search services, of which a session uses one. Without any, `web_search` is unavailable. */
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
  /** Directories of files that the user opened before the session began; see `Session.openFile`. @default [] */
  adHoc?: string[] | undefined
  /** Directories besides the workspace in which the manifest may declare roots. @default [] */
  manifestRoots?: string[] | undefined
  /** The host's directory for its user. */
  userData?: string | undefined
  /** The definition of the agent. */
  manifest: AgentManifest
  /**
   * The agent's own tools and those of extensions; or a choice of tools: `{ only: ['read', 'grep'] }` or
   * `{ except: ['bash'] }`, with own tools as `own`. An excluded tool cannot be called, and its requirements are no
   * capabilities of the session.
   * @default []
   */
  tools?: readonly ContractTool[] | ToolChoice | undefined
  /**
   * Rules besides those of the manifest, whose denials they cannot overrule. A list, such as `presets.acceptEdits` with
   * further rules, is the project's; `session` and `project` are rules that the user made earlier.
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
  /** The most access that the session can have, whatever its manifest and tools require. @default no bound */
  ceiling?: RequirementSet | undefined
  /** Sizes, times and counts; each that is absent is that of `defaultLimits`. @default `defaultLimits` */
  limits?: Partial<Limits> | undefined
  /** How skills are found. @default in the workspace, around it, and in the user's home */
  skills?: SkillOptions | undefined
  /** When tools are hidden behind `tool_search`. @default those of servers and extensions, above 20 tools */
  toolSearch?: ToolSearchOptions | undefined
  /**
   * How a model reads results: the envelope as JSON, or as text with lines, which has fewer tokens. The value of a call is the envelope in
   * both. @default 'json'
   */
  results?: ResultForm | undefined
  /** The servers of `manifest.mcpServers` that the user wants. @default [] */
  enabledMcpServers?: string[] | undefined
  /** The model of subagents without their own, unless the host spawns them. */
  model?: LanguageModel | undefined
  /** Restrictions on the processes of `bash` besides the capabilities. */
  sandbox?: SessionSandbox | undefined
  /**
   * Which secrets are masked in what commands and processes print, as for `createTools`. Subagents have it too. @default 'known'
   */
  mask?: MaskOption | undefined
  /**
   * The shell of `bash`, whose grammar also judges the command lines. The session looks for bash once, when it is opened, in
   * this process's PATH. The shell reads no startup file. With `sh`, syntax that only bash has is refused as
   * `invalid_arguments`, with what to write instead. Subagents have the shell of their parent.
   * @default 'bash' if PATH has it, otherwise 'sh'
   * @throws {ToolError} INVALID_INPUT for `'bash'` if there is none.
   */
  shell?: ShellName | undefined
  /**
   * What happens to a `bash` command at its timeout. With `'background'`, it continues as a process of the session, which the
   * result names. The tools of `processTools` read and stop it, and it ends with the session. On Linux only.
   * @default 'stop'
   */
  onTimeout?: 'stop' | 'background' | undefined
  /**
   * Checkpoints of the workspace, from `openCheckpoints`. Each call that changes something is made between two of them, under its id, and
   * each turn begins with one where `prepareStep` is used. `session.checkpoints.undo({ call })` takes a call back, and
   * `undo({ turn: `${session.id}/turn-1` })` what was done for the first message of the user. Results of `bash` have `metadata.changed`.
   * The session does not close them.
   */
  checkpoints?: Checkpoints | undefined
  /**
   * Sees each call before it is checked, asked about and recorded, also those of subagents: `{ refuse: 'reason' }` refuses it, and the model
   * reads the reason; `{ args }` makes it with other arguments, which are judged in place of its own, and its row says that they were
   * changed. What it throws refuses the call. @default none
   */
  before?: BeforeContractCall | undefined
  /**
   * Sees each call that has ended, with its envelope: `{ result }` takes the place of the data of a success, for the model and in the
   * journal. What it throws becomes a warning. @default none
   */
  after?: AfterContractCall | undefined
  /**
   * What happens to a call that would undo changes which the model has not been shown, as for `createTools`. `'refuse'`: it is refused
   * once as `stale`, with the changes in the text. Each session has seen its own files, and so has each subagent. @default 'refuse'
   */
  unseenChanges?: UnseenChanges | undefined
  /**
   * Language servers in the sandbox, as for `createTools`: results of `write`, `edit` and `apply_patch` have new problems as notes, and the session
   * and its subagents have the tool `lsp`. Servers know the first directory of the workspace, and write a home of their own alone.
   * On Linux only. @default none
   */
  languageServers?: 'installed' | LanguageServerOptions | undefined
  /**
   * Whether a file is formatted after `write`, `edit` and `apply_patch`, by the formatter that the project in the first directory of the workspace
   * has, as for `createTools`. Results have the lines that differ as notes. The formatter writes a home of its own alone. On Linux only.
   * @default no formatting
   */
  formatOnEdit?: 'project' | undefined
  /**
   * Whether `read` shows what is in documents: notebooks as cells, which `edit`, `apply_patch` and the host's own editors change; the text of PDF
   * documents, with the package `unpdf`; images of at most `limits.imageBytes`, with the package `sharp` for larger ones. The packages run in the
   * sandbox and reach no file of the workspace. On Linux only. @default false
   */
  documents?: boolean | undefined
  /**
   * Whether the session works in a fork of the workspace: its tools, commands, processes and sandboxed MCP servers see the
   * workspace as it is, at its own path, and what they change stays in the fork. `true` makes a fork of the workspace, which has to be one directory;
   * `session.fork` is that, and when the session is closed it stays in its store if it has changes. Or a fork from `openFork`, which the session does not
   * close; each root of the workspace lies in its directory. Subagents work in the same fork. Skills and instructions of the project are
   * those of the directory itself. Not together with `checkpoints`. On Linux only. @default false
   */
  fork?: boolean | Fork | undefined
  /** The journal in which calls are recorded, from `openJournal`. */
  journal?: Journal | undefined
  /** Called when a call begins, and again at its end, before the model gets the outcome. */
  onRecord?: ((part: RecordPart) => unknown) | undefined
}

const workspace: Check<string[]> = (value, name) => {
  const roots = typeof value === 'string' ? [value] : value
  if (!isNames(roots)) throw invalid(`${name} must be a path or an array of paths.`)
  return [...roots]
}

const forkOption: Check<boolean | Fork> = (value, name) => {
  if (typeof value === 'boolean' || forkedPath(value) !== undefined) return value as boolean | Fork
  throw invalid(`${name} must be true, or a fork from openFork.`)
}

const hostParts = group({
  prompt: optional(callable<Prompt>()),
  question: optional(callable<AskUser>()),
  spawn: optional(callable<SpawnAgent>()),
  webSearch: optional(searchProviders),
  lookup: optional(callable<HostLookup>()),
  fetch: optional(callable<NonNullable<SessionHost['fetch']>>()),
} satisfies Checks<SessionHost>)

/** A copy of a host, which may be an object of a class. */
const sessionHost: Check<SessionHost> = (host, name) => {
  if (typeof host !== 'object' || host === null) throw invalid(`${name} must be an object of functions.`)
  const misplaced = ['watchdog', 'onRule', 'onRecord'].find((option) => option in host)
  if (misplaced !== undefined) throw invalid(`${misplaced} is an option of the session, and not of its host.`)
  const parts = Object.entries(hostParts(host, name))
  return Object.fromEntries(parts.map(([part, value]) => [part, typeof value === 'function' ? value.bind(host) : value]))
}

const sessionSandbox = group({
  required: optional(boolean),
  network: optional(hostsOfSession),
  loopback: optional(oneOf('private', 'none', 'host')),
  denyRead: optional(paths),
  denyWrite: optional(protectedPaths),
  git: optional(oneOf('forked', 'strict')),
  env: optional(parseEnvironment),
} satisfies Checks<SessionSandbox>)

const checks = {
  id: optional(must<string>((id) => isNames([id]), 'a non-empty string')),
  workspace,
  adHoc: optional(paths, []),
  manifestRoots: optional(paths, []),
  userData: optional(path),
  manifest: agentManifest,
  tools: optional(toolOption, { own: [] }),
  permissions: optional(ruleLists, {}),
  onRule: optional(callable<NonNullable<SessionOptions['onRule']>>()),
  watchdog: optional(callable<Watchdog>()),
  before: optional(callable<BeforeContractCall>()),
  after: optional(callable<AfterContractCall>()),
  host: optional(sessionHost, {}),
  headless: optional(boolean),
  ceiling: optional(requirementSet),
  limits: optional(allLimits, defaultLimits),
  sandbox: optional<SessionSandbox>((value, name) => {
    const sandbox = sessionSandbox(value, name)
    checkNetwork(name, sandbox)
    checkGit(name, sandbox)
    return sandbox
  }, {}),
  mask: optional(parseMask, 'known'),
  journal: optional(checkJournal),
  onRecord: optional(callable<NonNullable<SessionOptions['onRecord']>>()),
  skills: optional<SkillOptions>(skillOptions, {}),
  results: optional(oneOf('json', 'text'), 'json'),
  toolSearch: optional(toolSearchOptions, toolSearchOptions({}, 'toolSearch')),
  enabledMcpServers: optional(listOf(text), []),
  model: optional((value, name) => {
    checkModel(name, value)
    return value as LanguageModel
  }),
  shell: optional(oneOf('bash', 'sh')),
  onTimeout: optional(oneOf('stop', 'background'), 'stop'),
  checkpoints: optional(checkCheckpoints),
  unseenChanges: optional(unseenChanges, 'refuse'),
  languageServers: optional(parseLanguageServers),
  documents: optional(boolean, false),
  formatOnEdit: optional(oneOf('project')),
  fork: optional(forkOption),
}

/** The options of a session, checked, copied and with their defaults. */
export type ParsedOptions = Parsed<typeof checks>

/** @throws {ToolError} INVALID_INPUT for invalid and misspelt options, because a misspelt option must not silently drop a restriction. */
export function parseSessionOptions(input: SessionOptions): ParsedOptions {
  return checked('createSession', () => {
    const options = parseOptions('createSession', input, checks satisfies Record<keyof SessionOptions, unknown>)
    const unknown = options.enabledMcpServers.find((name) => !Object.hasOwn(options.manifest.mcpServers ?? {}, name))
    if (unknown !== undefined) throw invalid(`enabledMcpServers: manifest.mcpServers has no ${unknown}.`)
    return options
  })
}
