import { hash, randomUUID } from 'node:crypto'
import type { DeniedCall } from '../../core/message-approvals.js'
import { type ApprovalRecord, type AskedCall, questionKey } from '../journal/approval-record.js'
import type { PromptAnswer } from '../permissions/prompt.js'
import type { Subject } from '../permissions/rule-store.js'

/** A call that the user is asked about: what an answer holds for. */
export interface CallInQuestion {
  id: string
  tool: string
  args: unknown
  touched: readonly Subject[]
  /** The reason of the watchdog, which the user reads. */
  reason: string | undefined
}

/** How many questions and answers are kept: a question that nobody answers must not stay for ever. */
const MAX_KEPT = 1_000
/** How many denied calls are remembered as recorded. Each step of an agent shows all of its conversation. */
const MAX_SETTLED = 10_000

/**
 * Questions about calls that are answered in a later request, perhaps in another process, and the answers. An answer holds for
 * one call, with these arguments, these targets and this reason.
 */
export class Approvals {
  readonly #record: ApprovalRecord | undefined
  /** The open questions, by call and arguments. */
  readonly #asked = new Map<string, AskedCall>()
  /** What the host has judged and may answer, by call and arguments. */
  readonly #judged = new Map<string, AskedCall>()
  /** The answers of the host, by call and arguments. */
  readonly #answers = new Map<string, { answer: PromptAnswer; seen: AskedCall | undefined }>()
  /** Calls whose denial needs no row, or has one. */
  readonly #settled = new Set<string>()

  constructor(record: ApprovalRecord | undefined) {
    this.#record = record
  }

  /** Remembers that the user is asked about a call. A question that cannot be recorded is none. */
  async ask(call: CallInQuestion): Promise<void> {
    const asked = questionAbout(call)
    const key = questionKey(asked)
    const open = this.#asked.get(key)
    if (open !== undefined && isSame(open, asked)) return
    const seq = await this.#record?.ask(asked)
    this.#asked.delete(key)
    keep(this.#asked, key, { ...asked, seq })
    this.#settled.delete(key)
  }

  /** Remembers what the host saw of a call, in case that it answers. */
  judged(call: CallInQuestion): void {
    const seen = questionAbout(call)
    keep(this.#judged, questionKey(seen), seen)
  }

  /** Takes an answer from the host, for one call with these arguments, and with the targets that it saw if it has judged the call. */
  agree(callId: string, args: unknown, answer: PromptAnswer): void {
    const key = questionKey({ callId, args: argumentsHash(args) })
    keep(this.#answers, key, { answer, seen: this.#judged.get(key) ?? this.#asked.get(key) })
  }

  /**
   * The answer to a question, if there is one for this call as it is now. It is used once.
   *
   * @param isApproved whether the messages of the call hold an approval. They come from a client, so it counts only for a question
   * that was asked.
   */
  async take(call: CallInQuestion, isApproved: boolean): Promise<PromptAnswer | undefined> {
    const now = questionAbout(call)
    const key = questionKey(now)
    const given = this.#answers.get(key)
    this.#answers.delete(key)
    if (given !== undefined && (given.seen === undefined || covers(given.seen, now))) return given.answer
    if (!isApproved) return undefined
    const asked = this.#asked.get(key) ?? (await this.#record?.questions())?.get(key)
    if (asked === undefined || !covers(asked, now)) return undefined
    return (await this.#use(asked)) ? { decision: 'allow_once' } : undefined
  }

  /** Those calls that the user was asked about and has denied, each once. */
  async denied(calls: readonly DeniedCall[]): Promise<DeniedCall[]> {
    const keyed = calls.map((call) => ({ call, key: questionKey({ callId: call.callId, args: argumentsHash(call.args) }) }))
    const unknown = keyed.filter(({ key }) => !this.#settled.has(key))
    if (unknown.length === 0) return []
    const recorded = unknown.every(({ key }) => this.#asked.has(key)) ? undefined : await this.#record?.questions()
    const denied: DeniedCall[] = []
    for (const { call, key } of unknown) {
      const asked = this.#asked.get(key) ?? recorded?.get(key)
      if (asked !== undefined && (await this.#use(asked))) denied.push(call)
      this.#settled.add(key)
      if (this.#settled.size > MAX_SETTLED) this.#settled.delete(this.#settled.values().next().value as string)
    }
    return denied
  }

  /** @returns whether nobody has used the answer before, in any process. */
  async #use(asked: AskedCall): Promise<boolean> {
    const isOpen = this.#asked.delete(questionKey(asked))
    return this.#record === undefined ? isOpen : this.#record.use(asked)
  }
}

/** What a call touches, as one text. */
export const subjectText = ({ capability, resource, isSecret = false }: Pick<Subject, 'capability' | 'resource' | 'isSecret'>): string =>
  `${capability} ${isSecret ? hash('sha256', resource) : resource}`

function questionAbout({ id, tool, args, touched, reason }: CallInQuestion): AskedCall {
  return { callId: id, tool, args: argumentsHash(args), subjects: touched.map(subjectText), ...(reason === undefined ? {} : { reason }) }
}

const isSame = (one: AskedCall, other: AskedCall): boolean =>
  covers(one, other) && one.subjects.length === other.subjects.length && one.tool === other.tool

/** Whether the user saw all of what a call is now. */
const covers = (asked: AskedCall, now: AskedCall): boolean =>
  asked.tool === now.tool && asked.reason === now.reason && now.subjects.every((subject) => asked.subjects.includes(subject))

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  // The newest stays longest.
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_KEPT) map.delete(map.keys().next().value as string)
}

/**
 * A hash of JSON that does not depend on the order of keys, which a client may change. A value without JSON equals no other, so
 * that no answer holds for it.
 */
export function argumentsHash(args: unknown): string {
  try {
    return hash('sha256', JSON.stringify(sorted(args)) ?? 'undefined')
  } catch {
    return randomUUID()
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]))
}
