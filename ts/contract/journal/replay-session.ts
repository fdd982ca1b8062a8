import type { ToolSet } from 'ai'
import { ToolError } from '../../core/errors.js'
import type { Journal } from '../../journal/journal.js'
import type { ToolCallRow } from '../../journal/journal-store.js'
import { checkJournal } from '../../journal/checks.js'
import { checked, optional, parseOptions, text } from '../../core/options.js'
import { nativeArgsHash } from '../../core/native.js'
import { lockedTools } from '../tools/built-in-tools.js'
import { type ContractTool, copyTool, type JsonSchema } from '../registry/contract-tool.js'
import type { Envelope } from '../registry/envelope.js'
import { defaultLimits } from '../registry/limits.js'
import { type ExecutorOf, modelTools } from '../registry/model-tools.js'
import { snapshotArguments } from '../registry/call-arguments.js'
import { chooseTools, type ToolChoice, toolOption } from '../registry/tool-choice.js'
import { storedEnvelope, type StoredEnvelope, recordedArguments } from './recorded-call.js'
import { SESSION_NODE } from './session-recorder.js'

/** Options of {@link replaySession}. */
export interface ReplaySessionOptions {
  /** The `tools` of `createSession`, for descriptions and schemas. None of them runs. @default [] */
  tools?: readonly ContractTool[] | ToolChoice | undefined
}

/** A recorded call. */
export interface ReplayedEnvelope {
  call_id: string | null
  tool: string
  envelope: Envelope
}

/** A recorded session: iterate over its envelopes, or use tools that return them. */
export interface SessionReplay extends AsyncIterable<ReplayedEnvelope> {
  readonly id: string
  /**
   * Tools that return the recorded envelopes, for the same agent. Tools that the session found by `tool_search` appear at
   * that point of the replay.
   */
  readonly tools: ToolSet
  /** Aborts at the first call that differs from the record. Pass it to the agent. */
  readonly signal: AbortSignal
  /**
   * Returns the recorded envelope of a call.
   *
   * @throws {ToolError} REPLAY_DIFFERS at the first call that differs, and at every later one; REPLAY_INCOMPLETE if the
   * journal does not hold the whole envelope.
   */
  call(id: string, args: unknown, options?: { callId?: string | undefined }): Promise<Envelope>
  /** @throws {ToolError} REPLAY_DIFFERS if calls are missing or differ. */
  finish(): void
}

/**
 * Replays a recorded session, byte for byte, including durations. Nothing runs, and nothing is recorded.
 *
 * @throws {ToolError} INVALID_INPUT for an unknown session and for invalid options.
 */
export async function replaySession(journal: Journal, sessionId: string, options: ReplaySessionOptions = {}): Promise<SessionReplay> {
  const offered = checked('replaySession', () => {
    const { tools } = parseOptions('replaySession', options, { tools: optional(toolOption, { own: [] }) })
    checkJournal(journal)
    text(sessionId, 'sessionId')
    const registered = [...lockedTools, ...tools.own.map(copyTool)]
    const ids = registered.map(({ id }) => id)
    const isChosen = chooseTools(tools, ids)
    return registered.filter(({ id }) => isChosen(id))
  })
  const rows = (await journal.listRun(sessionId)).filter(({ nodeId }) => nodeId === SESSION_NODE)
  if (rows.length === 0) {
    const summary = 'The journal has no such session'
    throw new ToolError({
      code: 'INVALID_INPUT',
      summary,
      place: `${summary}: \`${sessionId}\``,
      hint: 'Take an id that journal.listRuns() gives.',
      details: { sessionId },
    })
  }
  return new RecordedSession(sessionId, rows, offered)
}

/** Tools that a session offers only if its host provides what they need. */
const offeredBehind: ReadonlySet<string> = new Set(['task', 'skill', 'web_search', 'tool_search'])

interface StoredCall extends StoredEnvelope {
  row: ToolCallRow
}

class RecordedSession implements SessionReplay {
  readonly id: string
  readonly tools: ToolSet
  readonly #calls: readonly StoredCall[]
  readonly #schemas: ReadonlyMap<string, JsonSchema>
  /** Tools that no search has found yet. */
  readonly #later: ToolSet
  readonly #used = new Set<StoredCall>()
  readonly #stopped = new AbortController()

  constructor(id: string, rows: readonly ToolCallRow[], tools: readonly ContractTool[]) {
    this.id = id
    this.#schemas = new Map(tools.map((tool) => [tool.id, tool.parameters]))
    this.#calls = rows.map((row) => ({ row, ...storedEnvelope(row) }))
    const executorOf: ExecutorOf =
      (tool) =>
      (args, { toolCallId } = {}) =>
        this.call(tool, args, { callId: toolCallId })
    const offer = (some: readonly ContractTool[]): ToolSet => modelTools(some, executorOf)
    const later = toolsOfferedLater(tools, this.#calls)
    // A tool that was not offered was not called either.
    const isCalled = (tool: string): boolean => rows.some(({ toolName }) => toolName === tool)
    const canFind = tools.some(({ extension }) => extension === true)
    const isOffered = (tool: string): boolean => !offeredBehind.has(tool) || isCalled(tool) || (tool === 'tool_search' && canFind)
    this.tools = offer(tools.filter((tool) => !later.has(tool.id) && isOffered(tool.id)))
    this.#later = offer(tools.filter((tool) => later.has(tool.id)))
  }

  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  async call(id: string, args: unknown, { callId }: { callId?: string | undefined } = {}): Promise<Envelope> {
    const taken = snapshotArguments(id, this.#schemas.get(id), args, defaultLimits.textBytes)
    const argsHash = await nativeArgsHash((await recordedArguments(id, taken.args)).identity)
    this.signal.throwIfAborted()
    const recorded = this.#take(id, argsHash, callId)
    if (recorded === undefined) throw this.#stop(this.#differs(this.#left()[0], id))
    this.#used.add(recorded)
    for (const one of foundBy(recorded)) {
      const tool = this.#later[one]
      if (tool !== undefined) this.tools[one] = tool
    }
    return this.#envelope(recorded)
  }

  finish(): void {
    this.signal.throwIfAborted()
    const [remaining] = this.#left()
    if (remaining !== undefined) throw this.#differs(remaining, undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplayedEnvelope, void, undefined> {
    for (const one of this.#calls) {
      yield { call_id: one.row.callToken, tool: one.row.toolName, envelope: this.#envelope(one) }
    }
  }

  /**
   * The next recorded call that equals this one. Calls that ran at the same time may come in another order; the id
   * distinguishes equal ones.
   */
  #take(tool: string, argsHash: string, callId: string | undefined): StoredCall | undefined {
    const same = nextOf(this.#left()).filter(({ row }) => row.toolName === tool && row.argsHash === argsHash)
    return same.find(({ row }) => row.callToken === callId) ?? same[0]
  }

  #left(): StoredCall[] {
    return this.#calls.filter((one) => !this.#used.has(one))
  }

  #envelope({ row, envelope }: StoredCall): Envelope {
    if (envelope !== undefined) return envelope
    const summary = 'The recorded outcome is not complete'
    throw this.#stop(
      new ToolError({
        code: 'REPLAY_INCOMPLETE',
        summary,
        place: `${summary}: ${row.toolName} (seq ${row.seq}) of session \`${this.id}\``,
        hint: 'Record the session again.',
        details: { runId: this.id, nodeId: row.nodeId, toolName: row.toolName, attempt: row.attempt, seq: row.seq },
      }),
    )
  }

  #stop(error: ToolError): ToolError {
    this.#stopped.abort(error)
    return this.signal.reason as ToolError
  }

  #differs(expected: StoredCall | undefined, actual: string | undefined): ToolError {
    const summary = 'The replay differs from the recorded session'
    const index = expected === undefined ? this.#calls.length : this.#calls.indexOf(expected)
    const was = expected === undefined ? 'the session has ended' : `${expected.row.toolName} was recorded`
    const is = actual === undefined ? 'nothing more was called' : `${actual} was called, or with other arguments`
    return new ToolError({
      code: 'REPLAY_DIFFERS',
      summary,
      place: `${summary} at call ${index + 1} of ${this.#calls.length}: ${was}, ${is}`,
      hint: 'Correct the code, or record a new session.',
      details: { runId: this.id, index, expected: expected?.row.toolName ?? null, found: actual ?? null },
    })
  }
}

/**
 * The calls that may come next: those that began before any other remaining call ended. Earlier attempts come first. A
 * call without a position, since its process died, comes in the order of its row.
 */
function nextOf(remaining: readonly StoredCall[]): StoredCall[] {
  const [first] = remaining
  if (first === undefined) return []
  const attempt = remaining.filter(({ row }) => row.attempt === first.row.attempt)
  const firstEnd = attempt.reduce((least, { order }) => Math.min(least, order?.[1] ?? Infinity), Infinity)
  return attempt.filter((one) => one === first || (one.order !== undefined && one.order[0] < firstEnd))
}

/**
 * The tools that a recorded session offered only after a search had found them. A tool that was called without such a
 * search was offered from the start, since the AI SDK refuses calls of other tools.
 */
function toolsOfferedLater(tools: readonly ContractTool[], calls: readonly StoredCall[]): Set<string> {
  const later = new Set<string>()
  for (const { id, extension } of tools) {
    if (extension !== true) continue
    const searches = calls.filter((call) => foundBy(call).includes(id))
    const wasOpen = calls.some((call) => call.row.toolName === id && isAnswered(call) && !searches.some((search) => isBefore(search, call)))
    if (!wasOpen) later.add(id)
  }
  return later
}

/** The ids that a call of `tool_search` found; none for any other call. */
function foundBy({ row, envelope }: StoredCall): string[] {
  if (row.toolName !== 'tool_search' || envelope?.type !== 'output') return []
  const { matches } = (envelope.data ?? {}) as { matches?: unknown }
  return Array.isArray(matches)
    ? matches.map((match: unknown) => (match as { id?: unknown } | null)?.id).filter((id) => typeof id === 'string')
    : []
}

const isAnswered = ({ envelope }: StoredCall): boolean => envelope?.metadata.code !== 'unknown_tool'

function isBefore(one: StoredCall, other: StoredCall): boolean {
  if (one.row.attempt !== other.row.attempt) return one.row.attempt < other.row.attempt
  return one.order !== undefined && other.order !== undefined && one.order[1] <= other.order[0]
}
