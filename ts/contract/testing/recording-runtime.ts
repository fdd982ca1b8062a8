import { abortSignal, anything, type Checks, must, optional, parseOptions } from '../../core/options.js'
import { ContractFailure } from '../registry/envelope.js'
import { allLimits, defaultLimits, type Limits } from '../registry/limits.js'
import { checkAnswers } from '../call/questions.js'
import { type CommandEnd, patchedFile, type Todo, type ToolRuntime } from '../registry/tool-runtime.js'
import { filesOfPatch } from '../../core/native.js'

/** One use of a runtime. */
export interface RuntimeUse {
  /** `fs.read`, `fs.write`, `fs.replace`, `fs.applyPatch` (which changes no file), `fs.glob`, `fs.grep`, `fs.overview`, `shell.run`, `processes.start`, `processes.read`, `processes.write`, `processes.stop`, `net.fetchPage`, `net.search`, `session.ask`, `session.todos`, `session.skill`, `session.searchTools`, `session.task`, `mcp.call`. */
  operation: string
  args: unknown[]
}

/** The answers of a {@link recordingRuntime}. */
export interface RecordingRuntimeOptions {
  /** Files by their path, in memory. @default none */
  files?: Record<string, string> | undefined
  /** How every command ends. @default with exit code 0 and no output */
  command?: Partial<CommandEnd> | undefined
  /** The user's answers. @default an empty one to each question */
  answers?: string[][] | undefined
  /** Pages by their URL. @default none */
  pages?: Record<string, string> | undefined
  /** The results of every search. @default none */
  results?: { title: string; url: string; snippet: string }[] | undefined
  /** The signal of the call. @default one that is never aborted */
  signal?: AbortSignal | undefined
  /** Limits other than those of a session. @default `defaultLimits` */
  limits?: Partial<Limits> | undefined
}

const checks = {
  files: optional(
    must<Record<string, string>>((value) => typeof value === 'object' && value !== null, 'an object of texts by their paths'),
    {},
  ),
  command: anything<RecordingRuntimeOptions['command']>(),
  answers: anything<RecordingRuntimeOptions['answers']>(),
  pages: anything<RecordingRuntimeOptions['pages']>(),
  results: anything<RecordingRuntimeOptions['results']>(),
  signal: abortSignal,
  limits: optional(allLimits, defaultLimits),
} satisfies Checks<RecordingRuntimeOptions>

/**
 * A runtime over files in memory that records its uses.
 *
 * @throws {ToolError} INVALID_INPUT for an unknown option.
 */
export function recordingRuntime(options: RecordingRuntimeOptions = {}): {
  runtime: ToolRuntime
  uses: RuntimeUse[]
  files: Map<string, string>
} {
  const parsed = parseOptions('recordingRuntime', options, checks)
  const { signal = new AbortController().signal, command, answers, pages, results, limits } = parsed
  const uses: RuntimeUse[] = []
  const files = new Map(Object.entries(parsed.files))
  let todos: readonly Todo[] = []
  const note = (operation: string, ...args: unknown[]): void => void uses.push({ operation, args })
  const find = (path: string): string => {
    const text = files.get(path)
    if (text === undefined) throw new ContractFailure('not_found', `There is no file ${path}.`)
    return text
  }
  const reported = (process_id: string) => ({ process_id, running: true, output: '', from: 0, next: 0 })
  const runtime: ToolRuntime = {
    call: { id: 'recorded', tool: 'recorded' },
    signal,
    limits,
    fs: {
      async read(path, { offset = 0, limit = limits.readBytes } = {}) {
        note('fs.read', path, { offset, limit })
        const bytes = Buffer.from(find(path))
        const end = Math.min(bytes.length, offset + limit)
        const content = bytes.toString('utf8', offset, end)
        return { content, offset, bytes: bytes.length, ...(end < bytes.length ? { next_offset: end } : {}) }
      },
      async write(path, content) {
        note('fs.write', path, content)
        const created = !files.has(path)
        files.set(path, content)
        return { bytes: Buffer.byteLength(content), created }
      },
      async replace(path, change) {
        note('fs.replace', path, change)
        const parts = find(path).split(change.old)
        const replacements = parts.length - 1
        if (replacements === 0) throw new ContractFailure('conflict', `The text is not in ${path}.`)
        if (replacements > 1 && change.all !== true) throw new ContractFailure('ambiguous', `The text is in ${path} ${replacements} times.`)
        files.set(path, parts.join(change.new))
        return { replacements }
      },
      async applyPatch(patch) {
        note('fs.applyPatch', patch)
        const changed = (await filesOfPatch(patch, limits.textBytes))?.map(patchedFile)
        if (changed === undefined) throw new ContractFailure('tool_failed', 'The text is no patch.')
        return changed
      },
      async glob(pattern, path) {
        note('fs.glob', pattern, path)
        return { items: [...files.keys()].sort() }
      },
      async grep(pattern, how) {
        note('fs.grep', pattern, how)
        const items = [...files].flatMap(([path, text]) =>
          text.split('\n').flatMap((line, index) => (line.includes(pattern) ? [{ path, line: index + 1, text: line }] : [])),
        )
        return { items, files_scanned: files.size }
      },
      async overview(how) {
        note('fs.overview', how)
        const bytes = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
        return { files: files.size, bytes, languages: [], manifests: [], entry_points: [], tree: [...files.keys()].sort().join('\n') }
      },
    },
    shell: {
      async run(line, how) {
        note('shell.run', line, how)
        return { stdout: '', stderr: '', exit_code: 0, signal: null, timed_out: false, ...command }
      },
    },
    processes: {
      async start(line, how) {
        note('processes.start', line, how)
        return reported('p1')
      },
      async read(process) {
        note('processes.read', process)
        return reported(process.process_id)
      },
      async write(process) {
        note('processes.write', process)
        return reported(process.process_id)
      },
      async stop(process) {
        note('processes.stop', process)
        return { ...reported(process.process_id), running: false, exit_code: null, signal: 'SIGKILL' }
      },
    },
    net: {
      async fetchPage(url, how) {
        note('net.fetchPage', url, how)
        const text = pages?.[url]
        return { url, status: text === undefined ? 404 : 200, content_type: 'text/plain', text: text ?? '' }
      },
      async search(query, how) {
        note('net.search', query, how)
        return (results ?? []).slice(0, how?.max_results ?? 10)
      },
    },
    mcp: {
      async call(server, name, args) {
        note('mcp.call', server, name, args)
        return { content: [] }
      },
    },
    session: {
      id: 'recorded',
      todos: {
        get: () => todos,
        set: (list) => {
          note('session.todos', list)
          todos = list
        },
      },
      async skill(name) {
        note('session.skill', name)
        return `<skill_content name="${name}">\n</skill_content>`
      },
      async searchTools(query) {
        note('session.searchTools', query)
        return []
      },
      async task(task) {
        note('session.task', task)
        return { session_id: 'recorded/1', output: '' }
      },
      async ask(questions) {
        note('session.ask', questions)
        return checkAnswers(questions, answers ?? questions.map(() => []))
      },
    },
  }
  return { runtime, uses, files }
}
