/**
 * What the server may have done without anybody hearing of it: the answer was lost, and the caller was told that nothing was done. It is
 * looked for until no statement can arrive any more, and taken back, so that nobody waits for a call that nobody makes.
 */
import type { SqlRow } from './client.js'
import type { Lease, Owner } from './owner.js'
import { isCode, type Session, type Statement } from './session.js'

/** The first pause before a look, and the longest one while the server does not answer. */
const FIRST_MS = 50
const RETRY_MS = 500
/** How long a statement that nobody heard of may still arrive. */
const MOST_MS = 60_000

interface Entry {
  /** They look for what was done, and take it back: by what it becomes, since the oldest request. */
  looks: Map<string, () => Promise<void>>
  untilMs: number
  looking: Promise<void> | undefined
  wasLooked: boolean
}

export class Unheard {
  readonly #session: Session
  readonly #owner: Owner
  readonly #everyMs: number
  /** By what was asked for: a call, a task, an undoing. */
  readonly #entries = new Map<string, Entry>()
  /** Requests for the same thing that are under way. */
  readonly #asking = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(session: Session, owner: Owner, leaseMs: number) {
    this.#session = session
    this.#owner = owner
    this.#everyMs = Math.max(FIRST_MS, leaseMs / 3)
  }

  /**
   * Asks the server for something that it grants once. What it may have granted before, unheard, is taken back first: what arrives late
   * then is older than the new request.
   *
   * @param look takes the grant back, where nobody has heard of it: this one, and every later one of its kind
   */
  async ask(
    key: string,
    lease: Lease,
    make: (again: boolean) => Statement,
    look: () => Promise<void>,
    kind = '',
  ): Promise<readonly SqlRow[]> {
    const before = this.#entries.get(key)
    if (before !== undefined && !this.#asking.has(key)) await this.#look(key, before)
    else await before?.looking?.catch(() => undefined)
    this.#asking.set(key, (this.#asking.get(key) ?? 0) + 1)
    let wasTried = false
    try {
      const rows = await this.#session.run((again) => {
        wasTried = again
        return make(again)
      })
      // The first one may still arrive, when what was granted has been given back.
      if (wasTried) this.note(key, lease, look, kind)
      return rows
    } catch (error) {
      if (wasTried || isCode(error, 'JOURNAL_UNREACHABLE')) this.note(key, lease, look, kind)
      throw error
    } finally {
      const left = (this.#asking.get(key) ?? 1) - 1
      if (left > 0) this.#asking.set(key, left)
      else this.#asking.delete(key)
    }
  }

  /** Remembers what may have been done. */
  note(key: string, lease: Lease, look: () => Promise<void>, kind = ''): void {
    if (this.#isClosed) return
    this.#owner.uncertain(lease)
    const untilMs = performance.now() + Math.max(MOST_MS, 4 * this.#everyMs)
    const looks = this.#entries.get(key)?.looks ?? new Map<string, () => Promise<void>>()
    const name = `${kind} ${lease.id}`
    if (!looks.has(name)) looks.set(name, look)
    this.#entries.set(key, { looks, untilMs, looking: undefined, wasLooked: false })
    this.#schedule(FIRST_MS)
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.settle(), afterMs).unref()
  }

  /** Looks for everything once more. */
  async settle(): Promise<void> {
    clearTimeout(this.#timer)
    let isUnsettled = false
    for (const [key, entry] of this.#entries) {
      // A request that is under way now must not be taken for the old one.
      if (this.#asking.has(key)) continue
      try {
        await this.#look(key, entry)
      } catch {
        isUnsettled = true
      }
    }
    if (this.#entries.size > 0) this.#schedule(isUnsettled ? RETRY_MS : this.#everyMs)
  }

  async #look(key: string, entry: Entry): Promise<void> {
    entry.looking ??= lookAll(entry.looks).finally(() => (entry.looking = undefined))
    await entry.looking
    entry.wasLooked = true
    if (performance.now() > entry.untilMs && this.#entries.get(key) === entry) this.#entries.delete(key)
  }

  /** One more look, if some of it was never looked for. Nothing is remembered after it. */
  async close(): Promise<void> {
    const isOpen = [...this.#entries.values()].some(({ wasLooked }) => !wasLooked)
    if (isOpen) await this.settle()
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#entries.clear()
  }
}

/** What was unknown before comes first: a later look must not take it for something that was never done. */
async function lookAll(looks: Entry['looks']): Promise<void> {
  const names = [...looks.keys()].toSorted().toReversed()
  for (const name of names) await looks.get(name)?.()
}
