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
  /** Whether the changed files themselves and those that import them were checked. */
  hasNear: boolean
}

/** The files to check: first those that were changed. */
export interface CheckedFiles {
  changes: readonly FileChange[]
  dependents: readonly string[]
  /** How many of the dependents come before the first answer. */
  near: number
  /** Whether the far ones are still to be checked. Otherwise they are left to the next check. */
  goesOn(): boolean
  read(path: string): Promise<string | undefined>
}

/** How long a server that speaks by itself is quiet when it has said what it has to say, in milliseconds. */
const QUIET_MS = 150
/** How many files are asked for at once. */
const AT_ONCE = 8

/**
 * Checks files, and notes in `check` what it finds.
 *
 * @param known what is known of files from earlier checks, and becomes known.
 * @param onNear hears that the near files were checked.
 * @returns the files that are left to the next check. What is known of them is of before this one.
 */
export async function runCheck(
  session: ServerSession,
  { changes, dependents, near, goesOn, read }: CheckedFiles,
  known: Map<string, Problem[]>,
  check: Check,
  signal: AbortSignal,
  onNear: () => void,
): Promise<string[]> {
  const changed = changes.filter(({ after }) => after !== undefined).map(({ path }) => path)
  check.left = changed.length + dependents.length
  // What was there before is asked for in the texts of before.
  for (const { path, before } of changes) session.setText(path, before)
  for (const { path, before } of changes) if (before === undefined) known.set(path, [])
  const others = await open(session, dependents, read)
  const files = [...changed, ...others]
  check.left = files.length
  await inTurns(
    files.filter((path) => !known.has(path)),
    async (path) => void known.set(path, await session.problems(path, signal)),
  )
  const spoken = new Map(session.publishedPaths().map((path) => [path, session.publishedOf(path) ?? []]))
  session.changed(
    changes.map(({ path, before, after }) => ({ path, kind: before === undefined ? 'made' : after === undefined ? 'removed' : 'changed' })),
  )
  for (const { path, after } of changes) {
    session.setText(path, after)
    if (after === undefined) known.delete(path)
    else session.saved(path)
  }
  const look = async (path: string): Promise<void> => {
    // What a server says by itself of a file that has not changed is known when it has nothing more to say.
    const isAsked = session.pulls || changed.includes(path)
    note(path, isAsked ? await session.problems(path, signal) : (session.publishedOf(path) ?? known.get(path) ?? []))
    check.checked += 1
    check.left -= 1
  }
  const note = (path: string, now: Problem[]): void => {
    const problems = newProblems(now, known.get(path) ?? spoken.get(path) ?? [])
    known.set(path, now)
    if (problems.length > 0) check.found.push({ path, problems })
  }
  const first = changed.length + Math.min(near, others.length)
  await inTurns(files.slice(0, changed.length), look)
  if (!session.pulls) await session.quiet(QUIET_MS, signal)
  await inTurns(files.slice(changed.length, first), look)
  check.hasNear = true
  onNear()
  const left: string[] = []
  await inTurns(files.slice(first), async (path) => {
    if (goesOn()) await look(path)
    else left.push(path)
  })
  // A server that speaks by itself speaks of files that were not asked for.
  if (session.pulls) return left
  for (const path of session.publishedPaths()) {
    const now = session.publishedOf(path)
    const isOther = !files.includes(path) && !changes.some((change) => change.path === path)
    if (now !== undefined && isOther) note(path, now)
  }
  return left
}

/** Shows the server the texts of files that it does not have open. @returns those that can be read. */
async function open(session: ServerSession, paths: readonly string[], read: CheckedFiles['read']): Promise<string[]> {
  const opened: string[] = []
  await inTurns(paths, async (path) => {
    const text = session.textOf(path) ?? (await read(path))
    if (text === undefined) return
    session.setText(path, text)
    opened.push(path)
  })
  return paths.filter((path) => opened.includes(path))
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
