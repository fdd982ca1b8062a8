/** The parts of a model's stream: kept as a whole, and given on as they come. */
import { LiveValues } from './live-values.js'

export type Part = { type: string; id?: string; delta?: string; toolCallId?: string } & Record<string, unknown>

/** Parts that are only shown. At any other one, something is done, and the engine has to have kept it before. */
const SHOWN = /^(?:stream-start|response-metadata|(?:text|reasoning|tool-input)-(?:start|delta|end))$/u

/** The stream of one answer. */
export class LiveParts {
  /** Fulfilled with the first part that is given on. */
  readonly started: Promise<undefined>
  readonly #live = new LiveValues<Part>()
  readonly #start: () => void
  #failure: { error: unknown } | undefined
  /** The parts that were given on. */
  #given: Part[] = []
  #isTaken = false

  constructor() {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.started = promise
    this.#start = () => resolve(undefined)
  }

  /** All parts. Texts that arrived in pieces are put together. */
  async gather(stream: ReadableStream<Part>, ids: UniqueIds): Promise<Part[]> {
    // An engine may carry out its step once more. What was given on then stays, and the rest comes at the end.
    const gives = !this.#isTaken
    this.#isTaken = true
    const parts: Part[] = []
    let isLive = gives
    let given = 0
    for await (const raw of stream as unknown as AsyncIterable<Part>) {
      // An error in the stream is that of the model, and the step fails with it.
      if (raw.type === 'error') throw raw['error']
      if (raw.type === 'raw') continue
      const part = ids.renamed(raw)
      const wasLive = isLive
      isLive &&= SHOWN.test(part.type)
      if (isLive) {
        this.#live.push({ ...part })
        this.#start()
      }
      const before = parts.at(-1)
      const continues = before !== undefined && before.type === part.type && before.id === part.id && typeof part.delta === 'string'
      // What was given on ends with a part of its own.
      const mayJoin = continues && part['providerMetadata'] === undefined && wasLive === isLive
      if (mayJoin) before.delta = `${before.delta ?? ''}${part.delta}`
      else parts.push({ ...part })
      if (isLive) given = parts.length
      this.#given = gives ? parts.slice(0, given) : this.#given
    }
    return parts
  }

  /** The rest, which is kept now. */
  end(parts: readonly Part[]): void {
    for (const part of this.#rest(parts)) this.#live.push(part)
    this.#live.end()
    this.#start()
  }

  /** Of an answer that the engine asked for once more, all of it, where it begins in another way than the one that was given on. */
  #rest(parts: readonly Part[]): Part[] {
    const given = this.#given
    if (JSON.stringify(parts.slice(0, given.length)) === JSON.stringify(given)) return parts.slice(given.length)
    const open = new Map<string, string>()
    for (const { type, id } of given) {
      const [, block, event] = /^(text|reasoning)-(start|end)$/u.exec(type) ?? []
      if (block === undefined || id === undefined) continue
      if (event === 'start') open.set(id, block)
      else open.delete(id)
    }
    const ends = Array.from(open, ([id, block]) => ({ type: `${block}-end`, id }))
    const isBegun = (part: Part): boolean => part.type === 'stream-start'
    const again = parts.filter((part) => !isBegun(part) || !given.some(isBegun))
    return [...ends, ...again.map((part) => (/^(?:text|reasoning)-/u.test(part.type) ? { ...part, id: `${part.id}~again` } : part))]
  }

  fail(error: unknown): void {
    this.#failure = { error }
    this.#live.end()
    this.#start()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Part, void, undefined> {
    yield* this.#live
    if (this.#failure !== undefined) yield { type: 'error', error: this.#failure.error }
  }
}

/** Some models count their calls from 0 in every answer. A call is known by its id, so a repeated one gets a number. */
export class UniqueIds {
  readonly #taken: ReadonlySet<string>
  readonly #names = new Map<string, string>()
  readonly #called = new Set<string>()

  /** @param taken the ids of earlier answers */
  constructor(taken: ReadonlySet<string>) {
    this.#taken = taken
  }

  renamed(part: Part): Part {
    // The parts that announce a call in a stream have its id as theirs.
    const field = part.type.startsWith('tool-input-')
      ? 'id'
      : part.type === 'tool-call' || part.type === 'tool-result'
        ? 'toolCallId'
        : undefined
    const id = field === undefined ? undefined : part[field]
    if (field === undefined || typeof id !== 'string') return part
    const isNew = part.type === 'tool-call' ? this.#called.has(id) : !this.#names.has(id)
    if (isNew || !this.#names.has(id)) {
      let name = id
      const used = new Set(this.#names.values())
      for (let number = 2; this.#taken.has(name) || used.has(name); number += 1) name = `${id}~${number}`
      this.#names.set(id, name)
    }
    if (part.type === 'tool-call') this.#called.add(id)
    return { ...part, [field]: this.#names.get(id) ?? id }
  }
}
