import type { FileOfPatch } from '../../../index.js'
import type {
  ProcessReadArguments,
  ProcessReport,
  ProcessStopArguments,
  ProcessWriteArguments,
} from '../../core/processes/process-report.js'
import type { Limits } from './limits.js'

/** A shell that reads command lines. */
export type ShellName = 'bash' | 'sh'

/** A question to the user. */
export interface AskedQuestion {
  question: string
  /** A few words that stand above it. */
  header?: string | undefined
  /** What may be chosen; the user may also answer freely. */
  options?: { label: string; description?: string | undefined }[] | undefined
  /** Whether several may be chosen. @default false */
  multi_select?: boolean | undefined
}

/** How a page is fetched. */
export interface FetchOptions {
  /** Headers of the caller. A redirect to another origin gets none of them. @default {} */
  headers?: Readonly<Record<string, string>> | undefined
  /** Whether a page is given as it was sent. @default false: as Markdown */
  raw?: boolean | undefined
}

/** What was fetched. */
export interface WebPage {
  /** Where it was in the end, after redirects. */
  url: string
  status: number
  /** Without parameters; empty where the server says nothing. */
  content_type: string
  text: string
}

/** One result of a search. */
export interface WebSearchResult {
  title: string
  url: string
  snippet: string
}

/** A tool that a search found. */
export interface ToolMatch {
  id: string
  description: string
}

/** A part of a text file. */
export interface FileText {
  content: string
  /** Where the part begins, in bytes: at the first byte of the character at the requested offset. */
  offset: number
  /** The size of the whole file. */
  bytes: number
  /** Where the next part begins, when there is more. */
  next_offset?: number | undefined
  /** Whether invalid UTF-8 is shown as U+FFFD. */
  lossy?: boolean | undefined
}

/** A file that was written. */
export interface FileWritten {
  bytes: number
  /** Whether it did not exist before. */
  created: boolean
}

/** The first entries, and where the others are. */
export interface Listing<T> {
  /** At most as many as the limit says. */
  items: T[]
  /** The path of a file with all of them, if there are more. */
  output_path?: string | undefined
  /** Files and directories that could not be searched completely, as `path: why`. Absent if there are none. */
  not_searched?: string[] | undefined
}

/** One line that matched. */
export interface GrepMatch {
  path: string
  line: number
  text: string
}

/** The lines that matched. */
export interface MatchListing extends Listing<GrepMatch> {
  files_scanned: number
  /** The last ones, when there are more than the limit: half as many as fit, and none of the first half. */
  last?: GrepMatch[] | undefined
  /** How many there are in all, when there are more than the limit and the search came to its end. */
  count?: number | undefined
}

/** What a manifest says: `package.json`, `Cargo.toml`. Fields that it does not have are absent. */
export interface ProjectManifest {
  path: string
  /** What uses it: `npm`, `cargo`, `python`, `go`, `make`. */
  kind: string
  name?: string | undefined
  version?: string | undefined
  /** The commands that it defines, at most 20. A target of a Makefile has no `command`. */
  scripts?: { name: string; command?: string | undefined }[] | undefined
  /** Where its programs and its library begin, as it says. */
  entry_points?: string[] | undefined
  /** The projects that belong to it, as paths or patterns. */
  members?: string[] | undefined
  /** Why nothing of it is known: it is malformed, or too large to be read. */
  problem?: string | undefined
}

/** What is in a tree. */
export interface TreeOverview {
  files: number
  bytes: number
  /** The files in a known language, the most bytes first; without those of dependencies. */
  languages: { language: string; files: number; bytes: number }[]
  /** How many files are in directories such as `node_modules` and `vendor`, which languages and manifests leave out. */
  dependency_files?: number | undefined
  /** Those nearest to the start, at most 40 of each root. */
  manifests: ProjectManifest[]
  /** How many manifests there are besides. */
  more_manifests?: number | undefined
  /** Files in which programs commonly begin: `src/main.rs`. */
  entry_points: string[]
  /** The beginning of the README at the start. */
  readme?: { path: string; head: string } | undefined
  /** Directories and files, one on each line, indented. */
  tree: string
  /** Directories that could not be listed, as `path: why`. */
  not_searched?: string[] | undefined
}

/** How a command ended. */
export interface CommandEnd {
  stdout: string
  stderr: string
  exit_code: number | null
  /** The signal that ended it. */
  signal: string | null
  timed_out: boolean
  /** The beginning of both outputs in the order of arrival, when they are longer than the limit. */
  head?: string | undefined
  /** Their end, then: with a limit of 1,024 bytes and more, each has half of it. */
  tail?: string | undefined
  /** How many bytes are left out between the two, then. */
  left_out_bytes?: number | undefined
  /** Where all of it is, then, unless it could not be kept. */
  output_path?: string | undefined
  /** What there is to know besides, for a model: what the sandbox refused, what was stopped. Absent where there is nothing. */
  notes?: string[] | undefined
  /** The files that patches in it have changed, as it says. Absent if there are none. */
  changed_files?: string[] | undefined
}

/** A file that a patch changes. */
export interface PatchedFile {
  /** As the patch names it. */
  path: string
  change: 'add' | 'update' | 'delete' | 'move'
  /** Its new path, if it is moved. */
  moved_to?: string | undefined
}

export const patchedFile = ({ path, change, movedTo }: FileOfPatch): PatchedFile => ({
  path,
  change,
  ...(movedTo === undefined ? {} : { moved_to: movedTo }),
})

/** Files, below the roots of the workspace. Every path is opened first, and what was opened is checked. */
export interface RuntimeFiles {
  /** A part of a text file; all of it without `limit`, as far as the host's limit goes. */
  read(path: string, range?: { offset?: number | undefined; limit?: number | undefined }): Promise<FileText>
  /** Makes `content` the text of a file, atomically. */
  write(path: string, content: string): Promise<FileWritten>
  /** Replaces a text in an existing file: the one place where it stands, or all. */
  replace(path: string, change: { old: string; new: string; all?: boolean | undefined }): Promise<{ replacements: number }>
  /**
   * Applies a patch of any number of files: all of it, or nothing. Every file that it names is checked as for `edit`, and every one
   * that it makes as for `write`.
   */
  applyPatch(patch: string): Promise<PatchedFile[]>
  /** The files below `path`, or below all roots of the workspace, whose path matches. */
  glob(pattern: string, path?: string): Promise<Listing<string>>
  /** The lines of files below `path`, or below all roots of the workspace, that match. */
  grep(
    pattern: string,
    options?: { path?: string | undefined; glob?: string | undefined; case_insensitive?: boolean | undefined },
  ): Promise<MatchListing>
  /** What is below `path`, or below all roots of the workspace; `depth` levels of directories, at most 4, are in the tree. */
  overview(options?: { path?: string | undefined; depth?: number | undefined }): Promise<TreeOverview>
}

/** Commands, in the sandbox. */
export interface RuntimeShell {
  /** Runs a command line with the shell of the session. */
  run(command: string, options?: { workdir?: string | undefined; timeout_ms?: number | undefined }): Promise<CommandEnd>
}

/** Processes that go on after the call that started them. They end with the session. */
export interface RuntimeProcesses {
  /**
   * Starts a command line with the shell of the session, and returns when it listens at a TCP port, waits for input or has ended, at
   * the latest after `wait_ms`.
   */
  start(
    command: string,
    options?: { workdir?: string | undefined; terminal?: boolean | undefined; wait_ms?: number | undefined },
  ): Promise<ProcessReport>
  /** A part of the output of a process. */
  read(process: ProcessReadArguments): Promise<ProcessReport>
  /** Gives input to a process. What is typed is judged as a command line is. */
  write(process: ProcessWriteArguments): Promise<ProcessReport>
  /** Ends a process and everything that it has started. */
  stop(process: ProcessStopArguments): Promise<ProcessReport>
}

/** The web. Every host is checked before it is dialled, those that redirects lead to as well. */
export interface RuntimeNet {
  /** A URL as text; its beginning, and where all of it is, when it is longer than the limit. */
  fetchPage(url: string, options?: FetchOptions): Promise<WebPage & { output_path?: string | undefined }>
  /** Searches with the provider of the session. */
  search(query: string, options?: { max_results?: number | undefined }): Promise<WebSearchResult[]>
}

/** What belongs to the session. */
export interface RuntimeSession {
  readonly id: string
  /** The todo list. */
  todos: {
    get(): readonly Todo[]
    set(todos: readonly Todo[]): void
  }
  /** Asks the user. */
  ask(questions: readonly AskedQuestion[]): Promise<string[][]>
  /** The body of a skill, between its markers. */
  skill(name: string): Promise<string>
  /** Finds tools that are not listed; they can be called from the next step on. */
  searchTools(query: string): Promise<ToolMatch[]>
  /** Has a subagent work on a task. */
  task(task: TaskArguments): Promise<TaskData>
}

/** Servers of the Model Context Protocol that the host has enabled. */
export interface RuntimeMcp {
  /** Calls a tool of a server, once. */
  call(server: string, tool: string, args: Record<string, unknown>): Promise<unknown>
}

/**
 * All that a tool can reach. Each access is checked against the session's capabilities, and against the
 * permission rules where that was not done before the call.
 */
export interface ToolRuntime {
  /** The call that it belongs to. */
  readonly call: { readonly id: string; readonly tool: string }
  /** Aborted when the call, or its session, is. */
  readonly signal: AbortSignal
  readonly limits: Readonly<Limits>
  readonly fs: RuntimeFiles
  readonly shell: RuntimeShell
  readonly processes: RuntimeProcesses
  readonly mcp: RuntimeMcp
  readonly net: RuntimeNet
  readonly session: RuntimeSession
}

/** One thing to do. */
export interface Todo {
  content: string
  status: 'pending' | 'in_progress' | 'completed'
  /** What is being done while it is in progress: `Running the tests`. */
  active_form?: string | undefined
}

/** Arguments of `task`. */
export interface TaskArguments {
  subagent_type: string
  prompt: string
  /** Whether the caller goes on at once. @default false */
  background?: boolean
  /** Kept by the host. */
  metadata?: Record<string, unknown>
}

/** One call of a subagent, as its caller sees it. */
export interface TranscriptEntry {
  tool: string
  call_id: string
  /** How it ended. */
  type: 'output' | 'error'
  error_text?: string
}

/** What `task` gives: the answer, or the session in which it is being worked out. */
export interface TaskData {
  session_id: string
  /** The agent's final answer. Absent in the background. */
  output?: string
  /** What it called, unless the agent is `inspectable` and keeps a session of its own. */
  transcript?: TranscriptEntry[]
}
