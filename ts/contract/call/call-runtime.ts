import type { ContractGlobRequest, SidecarRequest } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { call, callLimited, type CallLimits, fileText, tryNowait } from '../../core/native.js'
import type { CallScope } from './access-controller.js'
import { ContractFailure } from '../registry/envelope.js'
import { environmentOptions, hostVariables } from '../../core/environment.js'
import { commandNotes } from './session-command-notes.js'
import { mcpCapability, mcpResource } from '../mcp/mcp-tools.js'
import { withDescriptor } from './call-slots.js'
import { textBefore } from './overwritten-text.js'
import { checkAnswers, QUESTION_HEADLESS_MESSAGE } from './questions.js'
import { anchoredPattern, explainPattern } from './path-advice.js'
import type { RuntimeFiles, RuntimeSession, RuntimeShell, ToolRuntime } from '../registry/tool-runtime.js'
import { callNet } from './call-net.js'
import { withinTime } from '../../core/abort.js'

/** How much longer a call that changes a file may take to report its outcome. */
const GRACE_MS = 1_000
/** The addon kills a command at its timeout. A call that hangs is given up this much later. */
const HANG_GRACE_MS = 5_000
/** How long a change waits for other changes of the same file. */
const WAIT_MS = 60_000
/** Longer matching lines are cut. */
const LINE_BYTES = 2_000

/**
 * A runtime for tools that are not built in. Operations that such a tool does not await fail when the call is over; their
 * unhandled rejections must not end the host.
 */
export function forgivingRuntime(runtime: ToolRuntime): ToolRuntime {
  const { fs, shell, net, session, mcp } = runtime
  return { ...runtime, fs: forgiving(fs), shell: forgiving(shell), net: forgiving(net), session: forgiving(session), mcp: forgiving(mcp) }
}

function forgiving<T extends object>(part: T): T {
  const wrapped = Object.entries(part).map(([name, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [name, value]
    return [
      name,
      (...args: unknown[]): unknown => {
        const given: unknown = Reflect.apply(value, part, args)
        if (given instanceof Promise) given.catch(() => undefined)
        return given
      },
    ]
  })
  return Object.fromEntries(wrapped) as T
}

/** The runtime of one call. Every access goes through its controller. */
export function callRuntime(caller: CallScope): ToolRuntime {
  const { scope, access, id, tool, signal } = caller
  return {
    call: { id, tool },
    signal,
    limits: scope.host.limits,
    fs: callFiles(caller),
    shell: callShell(caller),
    net: callNet(caller),
    session: callSession(caller),
    mcp: {
      async call(server, name, args) {
        await access.use(mcpCapability(server), mcpResource(server, name))
        return scope.mcp.call(server, name, args, signal)
      },
    },
  }
}

function callFiles(caller: CallScope): RuntimeFiles {
  const { scope, access, tool, signal } = caller
  const { limits } = scope.host
  const { roots } = scope.access
  const within = (what: string, more: Partial<CallLimits> = {}): CallLimits => ({ signal, what, timeoutMs: WAIT_MS, ...more })
  const changing = (what: string): CallLimits => within(what, { timeoutMs: WAIT_MS + HANG_GRACE_MS, graceMs: GRACE_MS })
  const publish = { fsync: false, allowInPlace: false, waitMs: WAIT_MS }
  const patient = <T>(work: () => Promise<T>): Promise<T> => withDescriptor(work, signal)
  const searching = (agreed: boolean, sidecar: SidecarRequest): Omit<ContractGlobRequest, 'pattern' | 'maxEntries'> => ({
    agreed,
    timeoutMs: limits.searchMs,
    toolId: tool,
    sidecar,
  })
  return {
    async read(path, { offset = 0, limit = limits.readBytes } = {}) {
      const target = await access.open(path, 'read')
      const most = Math.min(limit, limits.readBytes)
      const whole = offset === 0 ? tryNowait(signal, () => target.tryReadCached(most)) : undefined
      if (whole !== undefined) return { content: fileText(whole), offset, bytes: whole.length }
      const part = await patient(() => call(within(`read ${path}`), (_, cancel) => target.readRange(offset, most, cancel)))
      return {
        content: fileText(part.text),
        offset: part.offset,
        bytes: part.fileBytes,
        ...(part.nextOffset === undefined ? {} : { next_offset: part.nextOffset }),
        ...(part.lossy ? { lossy: true } : {}),
      }
    },
    async write(path, content) {
      const target = await access.open(path, 'write')
      const before = caller.onOverwritten && (await textBefore(target, signal))
      const { bytes, created } = await patient(() =>
        callLimited(changing(`write ${path}`), (_, cancel) => target.write(content, limits.textBytes, publish, cancel)),
      )
      caller.onOverwritten?.(before)
      return { bytes, created }
    },
    async replace(path, change) {
      const target = await access.open(path, 'edit')
      const edit = { oldString: change.old, newString: change.new, replaceAll: change.all ?? false }
      // Without a descriptor nothing has been changed.
      const { replacements } = await patient(() =>
        callLimited(changing(`edit ${path}`), (_, cancel) => target.edit(edit, limits.textBytes, publish, cancel)),
      )
      return { replacements }
    },
    async glob(pattern, path) {
      const { target, also, agreed } = await access.search(path)
      if (target.kind !== 'directory') throw notADirectory(path ?? '.')
      const most = within(`glob ${pattern}`, { timeoutMs: limits.searchMs + HANG_GRACE_MS })
      const { entries, notListed, sidecar } = await withSidecar(caller, (file) => {
        const request = { ...searching(agreed, file), pattern: anchoredPattern(pattern), maxEntries: limits.globEntries }
        return callLimited(most, (_, cancel) => target.glob(request, also, access.forSearches, cancel))
      })
      if (entries.length === 0) explainPattern(pattern, 'pattern', roots)
      return { items: entries, output_path: sidecar?.path, ...notSearched(notListed) }
    },
    async grep(pattern, { path, glob, case_insensitive: caseInsensitive = false } = {}) {
      const { target, also, agreed } = await access.search(path)
      const most = within(`grep ${pattern}`, { timeoutMs: limits.searchMs + HANG_GRACE_MS })
      const {
        matches,
        last = [],
        count,
        filesScanned,
        notSearched: left,
        sidecar,
      } = await withSidecar(caller, (file) => {
        const request = {
          ...searching(agreed, file),
          ...(glob === undefined ? {} : { glob: anchoredPattern(glob) }),
          pattern,
          caseInsensitive,
          maxMatches: limits.grepMatches,
          maxLineBytes: LINE_BYTES,
        }
        return callLimited(most, (_, cancel) => target.grep(request, also, access.forSearches, cancel))
      })
      if (glob !== undefined && filesScanned === 0) explainPattern(glob, 'glob', roots)
      const more = sidecar === undefined ? {} : { last, count }
      return { items: matches, files_scanned: filesScanned, output_path: sidecar?.path, ...more, ...notSearched(left) }
    },
  }
}

/** The error of a search below a file. */
function notADirectory(path: string): ToolError {
  const summary = 'Not a directory'
  const hint = 'glob looks into directories: name one, or leave `path` out to look in the whole workspace.'
  return new ToolError({ code: 'TOOL_NOT_A_DIRECTORY', summary, place: `${summary}: \`${path}\``, hint, details: { path } })
}

/** The list of files that were not searched, if there are any. */
const notSearched = (left: string[]): { not_searched?: string[] } => (left.length === 0 ? {} : { not_searched: left })

function callShell(caller: CallScope): RuntimeShell {
  const { scope, access, signal } = caller
  const { directory, scratch } = scope
  const { limits, sandbox, shell } = scope.host
  const { policy } = access
  return {
    async run(command, { workdir, timeout_ms: requestedMs = limits.commandMs } = {}) {
      const target = await access.command(command, workdir)
      const { readable, writable, readsAll, network } = policy.grants
      const { denyRead = [], denyWrite, loopback, required } = sandbox
      const timeoutMs = Math.min(requestedMs, limits.maxCommandMs)
      const hostEnv = hostVariables()
      const request = {
        command,
        ...(shell.path === undefined ? {} : { bash: shell.path }),
        environment: environmentOptions(sandbox.env, network),
        ...(hostEnv === undefined ? {} : { hostEnv }),
        // Long outputs are in the session's directory.
        grants: { readable: [...readable, directory.path], writable: [...writable, scratch], readsAll, network },
        // The directories of other sessions stay closed.
        denyRead: [...denyRead, directory.base],
        ...(denyWrite === undefined ? {} : { denyWrite }),
        ...(loopback === undefined ? {} : { loopback }),
        ...(required === undefined ? {} : { required }),
        timeoutMs,
        headBytes: limits.bashBytes,
      }
      const most = { signal, timeoutMs: timeoutMs + HANG_GRACE_MS, what: 'bash', graceMs: GRACE_MS }
      const ended = await withSidecar(caller, (sidecar) => policy.bash(target, { ...request, sidecar }, most))
      const {
        stdout = '',
        stderr = '',
        exitCode = null,
        signal: killedBy = null,
        timedOut,
        truncated,
        sidecar,
        sidecarFailed = 'it could not be kept',
      } = ended
      const notes = commandNotes({ ended, grants: policy.grants })
      const end = { stdout, stderr, exit_code: exitCode, signal: killedBy, timed_out: timedOut, ...(notes.length === 0 ? {} : { notes }) }
      if (sidecar === undefined) return truncated ? { ...end, head: `${stdout}${stderr}\n[The rest is lost: ${sidecarFailed}]` } : end
      // The file holds both outputs in order of arrival. They can no longer be separated.
      return { ...end, ...(await directory.ends(sidecar.path, limits.bashBytes)), output_path: sidecar.path }
    },
  }
}

function callSession({ scope, id, signal }: CallScope): RuntimeSession {
  const { sessionId, headless, question, limits } = scope.host
  return {
    id: sessionId,
    todos: {
      get: () => scope.todos.current,
      set: (todos) => {
        scope.todos.current = structuredClone(todos)
      },
    },
    skill: (name) => scope.skills.load(name),
    searchTools: (query) => scope.searchTools(query, signal),
    task: (task) => scope.runTask(task, { callId: id, signal }),
    async ask(questions) {
      if (headless || question === undefined) {
        throw new ContractFailure('question_unavailable', QUESTION_HEADLESS_MESSAGE)
      }
      const { questionMs } = limits
      const late = (): Error =>
        new ContractFailure('timeout', `Nobody answered within ${questionMs} ms. Continue with your best assumption and state it.`)
      const asked = structuredClone(questions)
      const answers = withinTime(
        (either) => question(asked, { session_id: sessionId, call_id: id, signal: either() }),
        questionMs,
        signal,
        late,
      )
      return checkAnswers(questions, await answers)
    },
  }
}

/** Runs a call into the addon with a file for outputs that are too long. */
function withSidecar<T>({ scope, tool, id }: CallScope, use: (sidecar: SidecarRequest) => Promise<T>): Promise<T> {
  const { directory, host } = scope
  return directory.withName(tool, id, (name) => use({ directory: directory.path, name, limitBytes: host.limits.sidecarBytes }))
}
