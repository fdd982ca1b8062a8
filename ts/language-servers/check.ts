/** One check by a server: what is new among the problems of files that were changed, and of those that may depend on them. */
import type { ServerSession } from './server-session.js'
import { newProblems, type Problem } from './problems.js'

/** A file that a call has changed. */
export interface FileChange {
  path: string
  /** Its text before; `undefined` if it was not there. */
  before: string | undefined
  /** Its text now; `undefined` if it is gone. */
  after: string | undefined
}

/** New problems of one file. */
export interface NewProblems {
  path: string
  problems: Problem[]
}

/** A check that may go on after its first answer. */
export interface Check {
  /** The problems that are new, as far as they are known. */
  found: NewProblems[]
  /** How many files were checked. */
  checked: number
  /** How many of the files are not checked yet. */
  left: number
  /** Whether another check waited, which goes on with them. */
  isTakenOver: boolean
  /** Whether the changed files themselves and those that import them were checked. */
  hasNear: boolean
}

/** The files to check: first those that were changed. */
export interface CheckedFiles {
  changes: readonly FileChange[]
  dependents: readonly string[]
  /** How many of the dependents come before the first answer. */
  near: number
  /** Aborts when another check waits: the far ones are left to it. */
  isWaitedFor: AbortSignal
  read(path: string): Promise<string | undefined>
}

/** The quiet time after which the diagnostics of a push server count as complete, in milliseconds. */
const QUIET_MS = 150
/** How long a check may learn of the text before what it does not know of far files, in milliseconds. It then compares what it knows. */
const LEARN_MS = 30_000
/** How many files are asked for at once. */
const AT_ONCE = 8

/**
 * Checks files, and notes in `check` what it finds.
 *
 * What is new is a difference of two states of the server: in the texts of before, and in those of now. What is known of a file from
 * an earlier check stands for the first. The near files come before all others, so a server that has just started answers of them first.
 *
 * @param known what is known of files from earlier checks, and becomes known.
 * @param onNear hears that the near files were checked.
 * @returns the files that are left to the next check. What is known of them is of before this one.
 */
export async function runCheck(
  session: ServerSession,
  files: CheckedFiles,
  known: Map<string, Problem[]>,
  check: Check,
  signal: AbortSignal,
  onNear: () => void,
): Promise<string[]> {
  const running = new RunningCheck(session, files, known, check, signal)
  await running.checkNear()
  onNear()
  return running.checkFar()
}

class RunningCheck {
  readonly #session: ServerSession
  readonly #files: CheckedFiles
  readonly #known: Map<string, Problem[]>
  readonly #check: Check
  #signal: AbortSignal
  /** The changed files that are there. */
  readonly #changed: readonly string[]
  /** The diagnostics that a push server had published before the change. */
  #spoken = new Map<string, Problem[]>()

  constructor(session: ServerSession, files: CheckedFiles, known: Map<string, Problem[]>, check: Check, signal: AbortSignal) {
    this.#session = session
    this.#files = files
    this.#known = known
    this.#check = check
    this.#signal = signal
    this.#changed = files.changes.filter(({ after }) => after !== undefined).map(({ path }) => path)
    check.left = this.#changed.length + files.dependents.length
  }

  async checkNear(): Promise<void> {
    const { changes, dependents, near, read } = this.#files
    const session = this.#session
    for (const { path, before } of changes) {
      session.setText(path, before)
      if (before === undefined) this.#known.set(path, [])
    }
    const others = await this.#opened(dependents.slice(0, near), read)
    await this.#learn([...this.#changed, ...others])
    this.#spoken = new Map(session.publishedPaths().map((path) => [path, session.publishedOf(path) ?? []]))
    session.changed(
      changes.map(({ path, before, after }) => ({
        path,
        kind: before === undefined ? 'made' : after === undefined ? 'removed' : 'changed',
      })),
    )
    this.#showNow()
    for (const { path, after } of changes) {
      if (after === undefined) this.#known.delete(path)
      else session.saved(path)
    }
    if (!session.pulls) {
      // As in what it learns of the text before: it may speak of a text more than once, of its syntax first, and then of its types.
      await inTurns(this.#changed, async (path) => void (await session.problems(path, this.#signal)))
      await session.quiet(QUIET_MS, this.#signal)
    }
    await inTurns(this.#changed, (path) => this.#look(path))
    await inTurns(others, (path) => this.#look(path))
    this.#check.hasNear = true
  }

  /** Checks the other files as long as nobody waits for the server, and until the time of the check is over. */
  async checkFar(): Promise<string[]> {
    const { changes, dependents, near, isWaitedFor, read } = this.#files
    const session = this.#session
    const far = !isWaitedFor.aborted ? await this.#opened(dependents.slice(near), read) : dependents.slice(near)
    this.#signal = AbortSignal.any([this.#signal, isWaitedFor])
    if (!this.#signal.aborted && far.some((path) => !this.#known.has(path))) {
      for (const { path, before } of changes) session.setText(path, before)
      const learning = AbortSignal.any([this.#signal, AbortSignal.timeout(LEARN_MS)])
      await unlessEnded(learning, () => this.#learn(far, learning))
      this.#showNow()
    }
    const left: string[] = []
    await inTurns(far, async (path) => {
      const isLooked = this.#known.has(path) && (await unlessEnded(this.#signal, () => this.#look(path)))
      if (!isLooked) left.push(path)
    })
    this.#check.isTakenOver = isWaitedFor.aborted
    if (!session.pulls) this.#takeSpoken()
    return left
  }

  /** Shows the server the texts of now. */
  #showNow(): void {
    for (const { path, after } of this.#files.changes) this.#session.setText(path, after)
  }

  /** Asks for what is not known of files yet. */
  async #learn(paths: readonly string[], signal = this.#signal): Promise<void> {
    const unknown = paths.filter((path) => !this.#known.has(path))
    const session = this.#session
    await inTurns(unknown, async (path) => void this.#known.set(path, await session.problems(path, signal)))
    if (session.pulls || unknown.length === 0) return
    await session.quiet(QUIET_MS, signal)
    for (const path of unknown) this.#known.set(path, session.publishedOf(path) ?? [])
  }

  async #look(path: string): Promise<void> {
    // The diagnostics that a push server publishes of an unchanged file are complete when it is quiet.
    const isAsked = this.#session.pulls || this.#changed.includes(path)
    const said = this.#session.publishedOf(path) ?? this.#known.get(path) ?? []
    this.#note(path, isAsked ? await this.#session.problems(path, this.#signal) : said)
    this.#check.checked += 1
    this.#check.left -= 1
  }

  #note(path: string, now: Problem[]): void {
    const problems = newProblems(now, this.#known.get(path) ?? this.#spoken.get(path) ?? [])
    this.#known.set(path, now)
    if (problems.length === 0) return
    // Answers come in any order, and a reader gets them in that of the files.
    const { changes, dependents } = this.#files
    const order = [...changes.map((change) => change.path), ...dependents, path]
    this.#check.found.push({ path, problems })
    this.#check.found.sort((a, b) => order.indexOf(a.path) - order.indexOf(b.path))
  }

  /** A push server also publishes diagnostics of files that were not asked for. */
  #takeSpoken(): void {
    const { changes, dependents } = this.#files
    const own = new Set([...changes.map(({ path }) => path), ...dependents])
    for (const path of this.#session.publishedPaths()) {
      const now = this.#session.publishedOf(path)
      if (now !== undefined && !own.has(path)) this.#note(path, now)
    }
  }

  /** Shows the server the texts of files that it does not have open. @returns those that can be read. */
  async #opened(paths: readonly string[], read: CheckedFiles['read']): Promise<string[]> {
    const opened = new Set<string>()
    await inTurns(paths, async (path) => {
      const text = this.#session.textOf(path) ?? (await read(path))
      if (text === undefined) return void (this.#check.left -= 1)
      this.#session.setText(path, text)
      opened.add(path)
    })
    return paths.filter((path) => opened.has(path))
  }
}

/** Does a work until a signal. @returns whether it was done. */
async function unlessEnded(signal: AbortSignal, work: () => Promise<void>): Promise<boolean> {
  if (signal.aborted) return false
  try {
    await work()
    return true
  } catch (error) {
    if (signal.aborted) return false
    throw error
  }
}

/** Does something with each, some at once, in their order. */
async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0
  const turn = async (): Promise<void> => {
    while (next < all.length) {
      const one = all[next++] as T
      // eslint-disable-next-line no-await-in-loop -- one after the other
      await work(one)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, turn))
}
