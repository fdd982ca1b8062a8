/** Statements about threads: on a schema that was seen, with the errors of threads. */
import { nativeAddon } from '../../core/native.js'
import { threadError } from '../../standard-agents/store/store-checks.js'
import type { SqlRow } from '../client.js'
import { checkSchema } from '../ready.js'
import { quoted } from '../schema.js'
import type { Parameter, Session, Statement } from '../session.js'
import { prepared } from '../statements.js'
import { threadFailure } from './thread-failures.js'
import { kept } from './thread-texts.js'

export interface ThreadSessionOptions {
  schema: string
  migrate: boolean
  readOnly: boolean
}

export class ThreadSession {
  readonly #session: Session
  readonly #options: ThreadSessionOptions
  #opening: Promise<string> | undefined
  #isClosed = false

  constructor(session: Session, options: ThreadSessionOptions) {
    this.#session = session
    this.#options = options
  }

  /** The name of a table or a function in SQL. */
  table(name: string): string {
    return `${quoted(this.#options.schema)}._toolwright_${name}`
  }

  /**
   * Waits until the schema was seen. A failure is told, and the next call tries again.
   *
   * @returns the error of a call whose process died, for the journal's rows.
   */
  async ready(): Promise<string> {
    this.checkOpen()
    const opening = (this.#opening ??= this.#open())
    try {
      return await opening
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined
      throw threadFailure(error)
    }
  }

  async #open(): Promise<string> {
    const { schema, migrate, readOnly } = this.#options
    const addon = await nativeAddon()
    await checkSchema(this.#session, schema, migrate && !readOnly)
    const died = addon.processDiedJson()
    // What the dead have staged. A store on a replica can be read all the same.
    if (!readOnly) await this.#session.ask(`SELECT ${this.table('thread_sweep')}($1::text)`, [died]).catch(() => undefined)
    return died
  }

  /** Runs a statement, which is made for each try: `again` says that an earlier one may have been carried out. */
  async run(make: (again: boolean) => Statement): Promise<readonly SqlRow[]> {
    await this.ready()
    try {
      return await this.#session.run(make)
    } catch (error) {
      throw threadFailure(error)
    }
  }

  /** Runs a statement that may be carried out twice. U+0000 of its texts becomes what PostgreSQL keeps. */
  ask(text: string, values: readonly Parameter[] = []): Promise<readonly SqlRow[]> {
    const statement = { ...prepared(text), values: values.map(keptValue) }
    return this.run(() => statement)
  }

  /** The same for one that changes something. Its values are made for each try, where they depend on it. */
  async change(text: string, values: readonly Parameter[] | ((again: boolean) => readonly Parameter[])): Promise<readonly SqlRow[]> {
    this.checkWritable()
    const statement = prepared(text)
    const make = typeof values === 'function' ? values : () => values
    return this.run((again) => ({ ...statement, values: make(again).map(keptValue) }))
  }

  checkOpen(): void {
    if (!this.#isClosed) return
    throw threadError('THREAD_CLOSED', 'Thread store is closed', this.#where(), 'Open it again.', { path: this.#session.place })
  }

  checkWritable(): void {
    this.checkOpen()
    if (!this.#options.readOnly) return
    throw threadError('THREAD_READ_ONLY', 'Thread store is read-only', this.#where(), 'Open it without readOnly.', {
      path: this.#session.place,
    })
  }

  /** No more statements, after those that are under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => undefined)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #where(): string {
    return `\`${this.#session.place}\``
  }
}

const keptValue = (value: Parameter): Parameter => (typeof value === 'string' ? kept(value) : value)
