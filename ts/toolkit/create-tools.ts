import { boolean, callable, type Check, type Checks, checked, invalid, listOf, oneOf, optional, parseOptions } from '../core/options.js'
import {
  boundChecks,
  type BoundToolOptions,
  checkRoot,
  configuredRoot,
  documentedOptions,
  type LimitedKind,
  noteGranted,
  resolveSettings,
  rootPath,
  type Settings,
  type TrackedToolOptions,
} from './settings.js'
import { LanguageServers } from '../language-servers/language-servers.js'
import { type LanguageServerOptions, parseLanguageServers } from '../language-servers/options.js'
import { createLspTool, type LspTool } from './tools/lsp.js'
import { forkedPath, noteForkAsRoot } from '../core/grants.js'
import type { Fork } from '../fork/fork.js'
import type { OnGrant } from './grants.js'
import { checkCheckpoints } from '../journal/checks.js'
import type { Checkpoints } from '../journal/checkpoints/checkpoints.js'
import { type UnseenChanges, unseenChanges } from '../journal/seen-files.js'
import { SeenFilesOfSet } from './seen-files-of-set.js'
import { TrackedCalls } from './tools/tracked-calls.js'
import { type ApplyPatchTool, createApplyPatchTool } from './tools/apply-patch.js'
import { type BashTool, createBashTool, createStreamingBashTool, type StreamingBashTool } from './tools/bash.js'
import { type Descriptions, describeTools, documented, parseDescriptions } from './tools/descriptions.js'
import { createEditTool, type EditTool } from './tools/edit.js'
import { createGlobTool, type GlobTool } from './tools/glob.js'
import { createGrepTool, createToolkitGrepTool, type GrepTool, type ToolkitGrepTool } from './tools/grep.js'
import { CallNotes, type Toolkit } from './tools/model-output.js'
import { createProcessTools, type ProcessTools } from './tools/processes.js'
import { noteProcesses } from './tools/detach.js'
import { ToolProcesses } from './tools/tool-processes.js'
import { createReadTool, createToolkitReadTool, type ReadTool, type ToolkitReadTool } from './tools/read.js'
import type { AfterCall, BeforeCall } from './hooked-calls.js'
import { knownArguments } from './known-arguments.js'
import { RepeatedFailures } from './repeated-failures.js'
import { createWriteTool, type WriteTool } from './tools/write.js'

/** The built-in tools, for an agent. A type and no interface, so that it is assignable to the SDK's `ToolSet`. */
export type ToolwrightTools = {
  read: ToolkitReadTool
  write: WriteTool
  edit: EditTool
  grep: ToolkitGrepTool
  bash: BashTool
  glob: GlobTool
}

/** The same with a `bash` that yields its output while the command runs. */
export type StreamingToolwrightTools = Omit<ToolwrightTools, 'bash'> & { bash: StreamingBashTool }

/** Tools that a set has only on request. */
export type ExtraTools = {
  apply_patch: ApplyPatchTool
}

/** The additions of a set with `languageServers`: a tool, and an end. */
export type ToolsWithLanguageServers = {
  lsp: LspTool
  /** Ends the servers of the set, and its processes. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The name of one of {@link ExtraTools}. */
export type ExtraToolName = keyof ExtraTools

/**
 * The additions of a set with `processes: true`: four tools, and an end.
 * `await using tools = createTools({ processes: true })`, or `await tools[Symbol.asyncDispose]()`, stops all its processes.
 */
export type ToolsWithProcesses = ProcessTools & {
  /** Stops all processes of the set, and waits until they have ended. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of one tool set. */
export interface CreateToolsOptions extends Omit<BoundToolOptions, 'rootDir'> {
  /**
   * The directory to which tools are confined, or a fork of one from `openFork`: then all that they change stays in the fork.
   * @default `process.cwd()` at the time of the call
   */
  rootDir?: string | Fork | undefined
  /**
   * Whether `bash` yields its output while the command runs, as preliminary results of the AI SDK: the output so far, or the
   * last 4,000 characters of a long output, and at the end the whole result. A slow reader slows the command down; a reader
   * that stops early stops it.
   * @default false
   */
  streamOutput?: boolean | undefined
  /**
   * Descriptions of tools for the model, by name: a text in place of ours, or a function that gets ours and returns another.
   * @default made from the options: root directory, network, writable directories, limits
   */
  descriptions?: Descriptions | undefined
  /** Whether the model sees line numbers in files. The result itself has none. @default false */
  lineNumbers?: boolean | undefined
  /**
   * Tools besides the six. `apply_patch` creates, changes, moves and deletes any number of files with one patch, in the form
   * that OpenAI's models are trained on. It applies all of the patch or nothing.
   * @default []
   */
  extraTools?: readonly ExtraToolName[] | undefined
  /**
   * Whether the set has `process_start`, `process_read`, `process_write` and `process_stop`, for servers, watchers and
   * programs that ask. Processes outlive the call that starts them. They end with the set
   * (`await using tools = createTools({ processes: true })`), with the abort of their run's `abortSignal`, and with this process.
   * At most 32 run at once.
   * @default false
   */
  processes?: boolean | undefined
  /**
   * What happens to a `bash` command at its timeout. With `'background'`, it continues as a process that the tools of
   * `processes` read and stop, and the result names the process. It ends with the set, with the abort of its run, and with
   * this process. On Linux only, and not together with `streamOutput`.
   * @default 'stop'
   */
  onTimeout?: 'stop' | 'background' | undefined
  /**
   * Asks the user about a grant: one path or host that a command of `bash` needs besides the options. With it, `bash` has the argument
   * `grant`, which a model gives after a refusal. `allow_once` opens it for this one command; anything else, and an error, refuses it.
   * What `denyRead`, `denyWrite` and `network.deny` have is refused without a question. The time limit does not include the
   * wait for the answer. @default none, and no argument `grant`
   */
  onGrant?: OnGrant | undefined
  /**
   * Checkpoints of the root directory: what `openCheckpoints` gave. Each call that changes files is made between two of them, under
   * the id of the call: `checkpoints.undo({ call })` takes it back. The model is told which files a command of `bash` has changed, and
   * which of them it has read. @default none
   */
  checkpoints?: Checkpoints | undefined
  /**
   * Sees each call before it is made and recorded, by its tool: `{ refuse: 'reason' }` refuses it, and the model reads the reason; `{ args }`
   * makes it with other arguments, and its row says that they were changed. What it throws refuses the call. @default none
   */
  before?: BeforeCall | undefined
  /**
   * Sees each call that was made, with its `result` or its `error`: `{ result }` takes the place of a result, for the model and in the
   * journal. What it throws becomes a warning. @default none
   */
  after?: AfterCall | undefined
  /**
   * Language servers in the sandbox, shared by the calls of the set. The answers of `write`, `edit` and `apply_patch` end with the problems
   * that are new since before the change, in the file and in those that depend on it, and the set has the tool `lsp`. `'installed'`:
   * those that the project or the `PATH` of commands has; nothing is downloaded. A server starts with the first change of a file of
   * its language. On Linux only. @default none
   */
  languageServers?: 'installed' | LanguageServerOptions | undefined
  /**
   * Whether `read` shows what is in documents: notebooks as cells, whose lines `edit` patches; the text of PDF documents by `pages`, with the
   * package `unpdf`; and images scaled to at most 1,568 pixels and `limits.image` bytes, with the package `sharp`. Both run in the
   * sandbox, and the host installs them. @default false
   */
  documents?: boolean | undefined
  /**
   * Formats a file after `write`, `edit` and `apply_patch`, by the formatter that the project has: Biome, oxfmt, dprint or Prettier where
   * `package.json` lists it and it is installed, gofmt beside a `go.mod`, rustfmt beside a `Cargo.toml`, Ruff or Black by their settings,
   * clang-format by its file. It runs in the sandbox of commands without a network, for at most 10 seconds and in 2 GB. The answer has the
   * lines that differ from what was written, or why the file was not formatted. @default none
   */
  formatOnEdit?: 'project' | undefined
  /**
   * What happens to a `write`, or to a patch that replaces or deletes a file, which would undo changes that the model has not been
   * shown: another agent or a person has changed the file since the model read it. `'refuse'` refuses it once with TOOL_FILE_CHANGED
   * and the changes in the text; the same call again is made. `'tell'` makes it, and tells what it has undone. `'allow'` compares
   * nothing. Contents are compared, and never times. @default 'refuse'
   */
  unseenChanges?: UnseenChanges | undefined
}

/** Options with language servers. */
type WithServers<EXTRA extends ExtraToolName> = CreateToolsOptions & {
  languageServers: 'installed' | LanguageServerOptions
  extraTools?: readonly EXTRA[]
}

type DocumentedTools = Omit<ToolwrightTools, 'read' | 'grep' | 'glob'> & { read: ReadTool; grep: GrepTool }

/**
 * Makes a set of the built-in tools with options of its own.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option, also for a `rootDir` that does not exist.
 */
export function createTools<EXTRA extends ExtraToolName = never>(
  options: WithServers<EXTRA> & { processes: true; streamOutput: true },
): StreamingToolwrightTools & Pick<ExtraTools, EXTRA> & ToolsWithProcesses & ToolsWithLanguageServers
export function createTools<EXTRA extends ExtraToolName = never>(
  options: WithServers<EXTRA> & { processes: true; streamOutput?: false | undefined },
): ToolwrightTools & Pick<ExtraTools, EXTRA> & ToolsWithProcesses & ToolsWithLanguageServers
export function createTools<EXTRA extends ExtraToolName = never>(
  options: WithServers<EXTRA> & { streamOutput: true },
): StreamingToolwrightTools & Pick<ExtraTools, EXTRA> & ToolsWithLanguageServers
export function createTools<EXTRA extends ExtraToolName = never>(
  options: WithServers<EXTRA> & { streamOutput?: false | undefined },
): ToolwrightTools & Pick<ExtraTools, EXTRA> & ToolsWithLanguageServers
export function createTools<EXTRA extends ExtraToolName = never>(
  options: CreateToolsOptions & { processes: true; extraTools?: readonly EXTRA[]; streamOutput: true },
): StreamingToolwrightTools & Pick<ExtraTools, EXTRA> & ToolsWithProcesses
export function createTools<EXTRA extends ExtraToolName = never>(
  options: CreateToolsOptions & { processes: true; extraTools?: readonly EXTRA[]; streamOutput?: false | undefined },
): ToolwrightTools & Pick<ExtraTools, EXTRA> & ToolsWithProcesses
export function createTools<EXTRA extends ExtraToolName>(
  options: CreateToolsOptions & { extraTools: readonly EXTRA[]; streamOutput: true },
): StreamingToolwrightTools & Pick<ExtraTools, EXTRA>
export function createTools<EXTRA extends ExtraToolName>(
  options: CreateToolsOptions & { extraTools: readonly EXTRA[]; streamOutput?: false | undefined },
): ToolwrightTools & Pick<ExtraTools, EXTRA>
export function createTools(options: CreateToolsOptions & { streamOutput: true }): StreamingToolwrightTools
/**
 * Makes a set of the built-in tools with options of its own.
 *
 * @example
 * ```ts
 * const tools = createTools({ rootDir: './project' })
 * const agent = new ToolLoopAgent({ model, tools })
 * console.log(await tools.read.execute({ path: 'package.json' }))
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option, also for a `rootDir` that does not exist.
 */
export function createTools(options?: CreateToolsOptions & { streamOutput?: false | undefined }): ToolwrightTools
export function createTools(options: CreateToolsOptions): StreamingToolwrightTools | ToolwrightTools
export function createTools(options: CreateToolsOptions = {}): StreamingToolwrightTools | ToolwrightTools {
  const {
    streamOutput,
    lineNumbers,
    descriptions,
    extraTools,
    processes: hasProcesses,
    onTimeout,
    onGrant,
    checkpoints,
    before,
    after,
    unseenChanges: unseen,
    languageServers,
    documents,
    formatOnEdit,
    rootDir,
    ...own
  } = parseOptions('createTools', options ?? {}, createChecks)
  const tracked = checkpoints && new TrackedCalls(checkpoints)
  const bound: TrackedToolOptions = {
    ...own,
    rootDir: typeof rootDir === 'object' ? forkedPath(rootDir) : rootDir,
    tracked,
    known: knownArguments(hasProcesses === true),
    failures: new RepeatedFailures(),
    startsProcesses: hasProcesses,
    documents,
    hooks: before === undefined && after === undefined ? undefined : { before, after },
    seen: SeenFilesOfSet.for(unseen, checkpoints !== undefined),
  }
  const texts = checked('createTools', () => {
    checkRoot(bound)
    if (typeof rootDir === 'object' && checkpoints !== undefined) {
      throw invalid('checkpoints are those of a directory, and rootDir is a fork: leave one of them out.')
    }
    for (const name of ['runId', 'nodeId'] as const) {
      if (bound[name] !== undefined && bound.journal === undefined) throw invalid(`${name} needs a journal: give one too.`)
    }
    if (onTimeout === 'background' && (streamOutput || !hasProcesses)) {
      const why = streamOutput ? 'cannot be had together with streamOutput' : 'needs processes: true, which reads and stops what goes on'
      throw invalid(`onTimeout: 'background' ${why}.`)
    }
    return describeTools(
      settingsNow(bound),
      { lineNumbers, documents, processes: hasProcesses, grants: onGrant !== undefined },
      descriptions,
    )
  })
  if (typeof rootDir === 'object') noteForkAsRoot(bound, rootDir)
  noteGranted(bound)
  const processes = hasProcesses ? new ToolProcesses() : undefined
  const servers = languageServers && new LanguageServers(languageServers)
  const toolkit: Toolkit = {
    notes: new CallNotes(),
    lineNumbers,
    documents,
    processes,
    goesOn: onTimeout === 'background',
    onGrant,
    tracked,
    languageServers: servers,
    formats: formatOnEdit === 'project',
  }
  const files = {
    read: createToolkitReadTool(bound, texts.read, toolkit),
    write: createWriteTool(bound, texts.write, toolkit),
    edit: createEditTool(bound, texts.edit, toolkit),
    grep: createToolkitGrepTool(bound, texts.grep, toolkit),
    ...(extraTools.includes('apply_patch') && { apply_patch: createApplyPatchTool(bound, texts.apply_patch, toolkit) }),
    ...(servers && { lsp: createLspTool(bound, texts.lsp, servers) }),
  }
  const glob = createGlobTool(bound, texts.glob, toolkit)
  const tools = streamOutput
    ? { ...files, bash: createStreamingBashTool(bound, texts.bash, toolkit), glob }
    : { ...files, bash: createBashTool(bound, texts.bash, toolkit), glob }
  if (processes !== undefined) {
    Object.assign(tools, createProcessTools(bound, texts, processes))
    noteProcesses(tools, processes)
  }
  return processes === undefined && servers === undefined ? tools : withEnd(tools, processes, servers)
}

/** Adds the end of a set as a property that is not enumerable, so that a loop over its tools does not find it. */
function withEnd<TOOLS extends object>(tools: TOOLS, processes: ToolProcesses | undefined, servers: LanguageServers | undefined): TOOLS {
  const end = async (): Promise<void> => void (await Promise.all([processes?.table.close(), servers?.close()]))
  return Object.defineProperty(tools, Symbol.asyncDispose, { value: end, enumerable: false })
}

const rootOrFork: Check<string | Fork> = (value, name) => (forkedPath(value) === undefined ? rootPath(value, name) : (value as Fork))

const createChecks = {
  ...boundChecks,
  rootDir: optional(rootOrFork),
  streamOutput: optional(boolean, false),
  descriptions: optional<Descriptions>(parseDescriptions, {}),
  lineNumbers: optional(boolean, false),
  extraTools: optional(listOf(oneOf<ExtraToolName>('apply_patch')), []),
  processes: optional(boolean, false),
  onTimeout: optional(oneOf('stop', 'background'), 'stop'),
  onGrant: optional(callable<OnGrant>()),
  checkpoints: optional(checkCheckpoints),
  before: optional(callable<BeforeCall>()),
  after: optional(callable<AfterCall>()),
  unseenChanges: optional(unseenChanges, 'refuse'),
  languageServers: optional(parseLanguageServers),
  documents: optional(boolean, false),
  formatOnEdit: optional(oneOf('project')),
} satisfies Checks<CreateToolsOptions>

const rootOf = (bound: BoundToolOptions): string | undefined => bound.rootDir ?? configuredRoot()

/** The settings outside any context, by the kind of call. The first call reports a missing working directory. */
function settingsNow(bound: BoundToolOptions): Record<LimitedKind, Settings> {
  const rooted = rootOf(bound) === undefined ? { ...bound, rootDir: '/' } : bound
  const of = (kind: LimitedKind): Settings => resolveSettings(undefined, rooted, kind)
  return { read: of('read'), write: of('write'), grep: of('grep'), bash: of('bash') }
}

/**
 * The tool `apply_patch` with the options of `configureTools`: it creates, changes, moves and deletes files with one patch,
 * all of them or none. {@link createTools} makes one with its own options.
 */
export const apply_patch: ApplyPatchTool = createApplyPatchTool(documentedOptions, documented.apply_patch)

/** The built-in tools with the options of `configureTools`, described as the documents describe them. */
export const tools: DocumentedTools = {
  read: createReadTool(documentedOptions, documented.read),
  write: createWriteTool(documentedOptions, documented.write),
  edit: createEditTool(documentedOptions, documented.edit),
  grep: createGrepTool(documentedOptions, documented.grep),
  bash: createBashTool(documentedOptions, documented.bash),
}
