import type { FileOfPatch } from '../../../index.js'
import type {
  ProcessReadArguments,
  ProcessReport,
  ProcessStopArguments,
  ProcessWriteArguments,
} from '../../core/processes/process-report.js'
import type { CommandConnection, CommandDenial, MaskedSecret } from './envelope.js'
import type { Limits } from './limits.js'

/** A shell that reads command lines. */
export type ShellName = 'bash' | 'sh'

/** A question to the user. */
export interface AskedQuestion {
  question: string
  /** A short title. */
  header?: string | undefined
  /** The choices. The user may also answer freely. */
  options?: { label: string; description?: string | undefined }[] | undefined
  /** Whether the user may choose several. @default false */
  multi_select?: boolean | undefined
}

/** Options of a fetch. */
export interface FetchOptions {
  /** Headers of the caller. A redirect to another origin gets none of them. @default {} */
  headers?: Readonly<Record<string, string>> | undefined
  /** Whether to return a page unchanged instead of as Markdown. @default false */
  raw?: boolean | undefined
}

/** A fetched page. */
export interface WebPage {
  /** The final URL, after redirects. */
  url: string
  status: number
  /** The content type without parameters; empty if the server sends none. */
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
  /** The position of the part in bytes: the first byte of the character at the requested offset. */
  offset: number
  /** The size of the whole file. */
  bytes: number
  /** The position of the next part, if there is more. */
  next_offset?: number | undefined
  /** Whether invalid UTF-8 is shown as U+FFFD. */
  lossy?: boolean | undefined
}

/** An image in the data of a result. */
export interface DataImage {
  /** For instance `image/webp`. */
  media_type: string
  /** The bytes in base64. Absent where the image is given beside the data. */
  data?: string
}

/** A part of what is in a document: of the cells of a notebook, of the text of a PDF document, or an image and what it is. */
export interface DocumentPart extends FileText {
  /** What the text does not say. Absent if there is nothing. */
  notes?: string[] | undefined
  /** The image, of a size that providers take. */
  image?: Required<DataImage> | undefined
}

/** A file that was written. */
export interface FileWritten {
  bytes: number
  /** Whether the file is new. */
  created: boolean
  /** What it has kept of the form of the file before: its byte order mark, its line endings. Absent if there is nothing. */
  kept?: string[] | undefined
  /** What the model should know: what was replaced unread, and the lines that a formatter has changed. Absent if there is nothing. */
  notes?: string[] | undefined
}

/** The first entries, and the place of the others. */
export interface Listing<T> {
  /** The entries, up to the limit. */
  items: T[]
  /** The path of a file with all of them, if there are more. */
  output_path?: string | undefined
  /** Files and directories that could not be searched completely, as `path: why`. Absent if there are none. */
  not_searched?: string[] | undefined
  /** What was left out, or why there is nothing: sentences for the model. Absent if there are none. */
  notes?: string[] | undefined
}

/** One line that matched. */
export interface GrepMatch {
  path: string
  line: number
  /** The line, or the part of a long one around its first match. */
  text: string
  /** In a part: the byte of the line at which the match begins, from 1. */
  column?: number | undefined
}

/** The lines that matched. */
export interface MatchListing extends Listing<GrepMatch> {
  files_scanned: number
  /** The last matches, if there are more than the limit. The first and the last matches each have half of the limit. */
  last?: GrepMatch[] | undefined
  /** The number of all matches, if there are more than the limit and the search was completed. */
  count?: number | undefined
}

/** The contents of a manifest such as `package.json` or `Cargo.toml`. Fields that it does not have are absent. */
export interface ProjectManifest {
  path: string
  /** The program that uses it: `npm`, `cargo`, `python`, `go`, `make`. */
  kind: string
  name?: string | undefined
  version?: string | undefined
  /** The commands that it defines, at most 20. A target of a Makefile has no `command`. */
  scripts?: { name: string; command?: string | undefined }[] | undefined
  /** The entry points of its programs and its library. */
  entry_points?: string[] | undefined
  /** The projects that belong to it, as paths or patterns. */
  members?: string[] | undefined
  /** Why its contents are unknown: it is malformed, or too large to be read. */
  problem?: string | undefined
}

/** An overview of a directory. */
export interface TreeOverview {
  files: number
  bytes: number
  /** The files in each known language, the most bytes first, without dependencies. */
  languages: { language: string; files: number; bytes: number }[]
  /** The number of files in directories such as `node_modules` and `vendor`, which languages and manifests leave out. */
  dependency_files?: number | undefined
  /** The manifests nearest to the start, at most 40 of each root. */
  manifests: ProjectManifest[]
  /** The number of further manifests. */
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
  /** The signal that ended the command. */
  signal: string | null
  timed_out: boolean
  /** The beginning of both outputs in the order of arrival, if they are longer than the limit. */
  head?: string | undefined
  /** The end of both outputs in that case. With a limit of at least 1,024 bytes, head and tail each have half of it. */
  tail?: string | undefined
  /** The number of bytes that are left out between head and tail. */
  left_out_bytes?: number | undefined
  /** How many of them are not in the file either, because it was too long for that. */
  unkept_bytes?: number | undefined
  /** The file with the whole output in that case, unless it could not be written. */
  output_path?: string | undefined
  /** Notes for the model, such as what the sandbox refused and what was stopped. Absent if there are none. */
  notes?: string[] | undefined
  /** The files that patches in the command have changed, by its own report. Absent if there are none. */
  changed_files?: string[] | undefined
  /** The hosts that the command asked for. Absent if there are none. */
  connections?: CommandConnection[] | undefined
  /** What the sandbox refused, as far as that is certain. Absent if there is nothing. */
  denials?: CommandDenial[] | undefined
  /** The secrets that are masked in the output, by their names. Absent if there are none. */
  masked?: MaskedSecret[] | undefined
}

/** A file that a patch changes. */
export interface PatchedFile {
  /** The path in the patch. */
  path: string
  change: 'add' | 'update' | 'delete' | 'move'
  /** The new path, if the file is moved. */
  moved_to?: string | undefined
  /** `true` for a symbolic link that was deleted or moved itself. */
  link?: boolean | undefined
  /** `true` where a file or a link stood before: it is gone. */
  replaced?: boolean | undefined
  /** What else there is to tell, such as fits that were not exact. Absent if there is nothing. */
  notes?: string[] | undefined
}

export const patchedFile = ({ path, change, movedTo, isLink, isReplaced, notes }: FileOfPatch): PatchedFile => ({
  path,
  change,
  ...(movedTo === undefined ? {} : { moved_to: movedTo }),
  ...(isLink === true && { link: true }),
  ...(isReplaced === true && { replaced: true }),
  ...(notes !== undefined && { notes }),
})

/** Files below the roots of the workspace. Every path is opened first, and the opened file is checked. */
export interface RuntimeFiles {
  /** Reads a part of a text file; without `limit`, all of it up to the host's limit. */
  read(path: string, range?: { offset?: number | undefined; limit?: number | undefined }): Promise<FileText>
  /**
   * What is in a document, in a session with `documents`; `undefined` for a file that is none. Offsets count bytes of the text that it is
   * shown as.
   */
  document?:
    | ((path: string, range?: { offset?: number | undefined; limit?: number | undefined }) => Promise<DocumentPart | undefined>)
    | undefined
  /** Writes `content` to a file, atomically. */
  write(path: string, content: string): Promise<FileWritten>
  /** Replaces a text in an existing file: its only occurrence, or all. */
  replace(
    path: string,
    change: { old: string; new: string; all?: boolean | undefined },
  ): Promise<{ replacements: number; notes?: string[] | undefined }>
  /**
   * Applies a patch of any number of files: all of it or nothing. Every named file is checked as for `edit`, and every new
   * file as for `write`.
   */
  applyPatch(patch: string): Promise<PatchedFile[]>
  /** The files below `path`, or below all roots of the workspace, whose path matches. */
  glob(pattern: string, path?: string): Promise<Listing<string>>
  /** The lines of files below `path`, or below all roots of the workspace, that match. */
  grep(
    pattern: string,
    options?: { path?: string | undefined; glob?: string | undefined; case_insensitive?: boolean | undefined },
  ): Promise<MatchListing>
  /** An overview of `path`, or of all roots of the workspace. The tree has `depth` levels of directories, at most 4. */
  overview(options?: { path?: string | undefined; depth?: number | undefined }): Promise<TreeOverview>
}

/** Commands, in the sandbox. */
export interface RuntimeShell {
  /** Runs a command line with the shell of the session. */
  run(command: string, options?: { workdir?: string | undefined; timeout_ms?: number | undefined }): Promise<CommandEnd>
}

/** Processes that outlive the call that starts them. They end with the session. */
export interface RuntimeProcesses {
  /**
   * Starts a command line with the shell of the session, and returns when it listens at a TCP port, waits for input or has ended, at
   * the latest after `wait_ms`.
   */
  start(
    command: string,
    options?: { workdir?: string | undefined; terminal?: boolean | undefined; wait_ms?: number | undefined },
  ): Promise<ProcessReport>
  /** Reads a part of the output of a process. */
  read(process: ProcessReadArguments): Promise<ProcessReport>
  /** Types into a process. The text is judged as a command line. */
  write(process: ProcessWriteArguments): Promise<ProcessReport>
  /** Ends a process and everything that it has started. */
  stop(process: ProcessStopArguments): Promise<ProcessReport>
}

/** The web. Every host is checked before it is dialled, including the hosts of redirects. */
export interface RuntimeNet {
  /** Fetches a URL as text; if it is longer than the limit, its beginning, and a file with all of it. */
  fetchPage(url: string, options?: FetchOptions): Promise<WebPage & { output_path?: string | undefined }>
  /** Searches with the provider of the session. */
  search(query: string, options?: { max_results?: number | undefined }): Promise<WebSearchResult[]>
}

/** Services of the session. */
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
 * Everything that a tool can reach. Each access is checked against the session's capabilities, and against the permission
 * rules if that was not done before the call.
 */
export interface ToolRuntime {
  /** The call of this runtime. */
  readonly call: { readonly id: string; readonly tool: string }
  /** Aborts with the call or its session. */
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
  /** The text while it is in progress: `Running the tests`. */
  active_form?: string | undefined
}

/** Arguments of `task`. */
export interface TaskArguments {
  subagent_type: string
  prompt: string
  /** Whether the caller continues at once. @default false */
  background?: boolean
  /** Data that the host keeps. */
  metadata?: Record<string, unknown>
}

/** One call of a subagent, for its caller. */
export interface TranscriptEntry {
  tool: string
  call_id: string
  /** How it ended. */
  type: 'output' | 'error'
  error_text?: string
}

/** The result of `task`: the answer, or the session that works on it. */
export interface TaskData {
  session_id: string
  /** The agent's final answer. Absent in the background. */
  output?: string
  /** The agent's calls, unless it is `inspectable` and keeps a session of its own. */
  transcript?: TranscriptEntry[]
  /** What an agent of `isolation: 'fork'` has changed. Nothing of it is applied. */
  fork?: TaskFork
}

/** What a subagent has changed in a fork of its own. */
export interface TaskFork {
  /** The name of the fork, for the host: `session.forks.apply(id)`. `null` where nothing was changed, and the fork is gone. */
  id: string | null
  /** The paths that differ, relative to the root of the workspace; at most 200. */
  changes: { path: string; kind: 'created' | 'modified' | 'deleted' }[]
  /** How many more there are. */
  more_changes?: number
  /** Whether the git directory of the fork has changed, such as by a commit. */
  has_git_changes?: boolean
}
