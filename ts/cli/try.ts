import { createInterface } from 'node:readline/promises'
import { fitted, print, shown, shownJson, shownLines, tell } from '../core/terminal.js'
import type { AppliedFork, Fork, ForkDiff } from '../fork/fork.js'
import { openFork } from '../fork/open-fork.js'
import { runInFork } from '../toolkit/fork-command.js'
import { appliedText, changeLine, diffText } from './forks/texts.js'
import { parseCommandLine, UsageError } from './program.js'

const HELP = shown`Usage: toolwright try [options] -- <command> [<argument> …]

Runs a command in a fork of the directory, where everything is as it is, and shows what it has changed before any of it is
real. Then it asks whether to apply all of that, parts of it, or nothing.

  --apply          apply all changes if the command succeeds, without a question
  --discard        throw the changes away, without a question
  --network        let the command reach the network
  --dir <path>     fork this directory (default: the current one)
  --store <path>   keep forks in this directory (default: the user's own)
  --json           print the result as JSON, and the output of the command on stderr
  --help           print this text

Where nobody can be asked, the fork stays: 'toolwright forks apply <id>' applies it. The exit code is that of the command, and
1 if its changes cannot be applied.
`

const options = {
  apply: { type: 'boolean' },
  discard: { type: 'boolean' },
  network: { type: 'boolean' },
  dir: { type: 'string' },
  store: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** The most bytes of a diff that is printed. */
const DIFF_BYTES = 4 << 20
/** The exit code of a program that was interrupted, by convention. */
const INTERRUPTED = 130

/** What becomes of the changes. */
interface Decision {
  what: 'apply' | 'discard' | 'keep'
  /** The paths to apply; all without them. */
  paths?: string[]
}

/** `toolwright try`. */
export async function tryCommand(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return 0
  const { values, positionals: command } = line
  if (command.length === 0) throw new UsageError("try: name a command behind '--'")
  if (values.apply === true && values.discard === true) throw new UsageError('try: give --apply or --discard, not both')
  const fork = await openFork({ rootDir: values.dir ?? '.', store: values.store, label: command.join(' ').slice(0, 200) })
  const interrupt = new AbortController()
  const onInterrupt = (): void => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  let exitCode
  try {
    const show = values.json === true ? tell : print
    const onText = (text: string): void => void show(shownLines(text))
    exitCode = await runInFork(fork, command, { allowNetwork: values.network === true, signal: interrupt.signal, onText })
  } catch (error) {
    await fork.discard()
    if (interrupt.signal.aborted) return INTERRUPTED
    throw error
  } finally {
    process.removeListener('SIGINT', onInterrupt)
  }
  const diff = await fork.diff({ maxTextBytes: DIFF_BYTES })
  if (values.json !== true) print(diffText(diff))
  const decision = await decide(diff, exitCode, values)
  const { applied, isKept } = await carryOut(fork, decision)
  if (values.json === true) {
    const { text, isCut, changes, leftOut } = diff
    const undo = applied !== undefined && applied.applied.length > 0 ? fork.id : null
    const kept = isKept ? fork.id : null
    print(shown`${shownJson({ fork: kept, exitCode, changes, leftOut, text, isCut, applied: applied ?? null, undo })}\n`)
  } else if (applied !== undefined) {
    print(fitted(appliedText(fork.id, applied), process.stdout))
  } else if (!isKept && diff.changes.length > 0) {
    print(shown`The changes are thrown away.\n`)
  }
  if (isKept) {
    const { id } = fork
    tell(shown`The fork stays: 'toolwright forks apply ${id}' applies it, 'toolwright forks discard ${id}' throws it away.\n`)
  }
  return applied !== undefined && applied.conflicts.length > 0 && exitCode === 0 ? 1 : exitCode
}

/** What to do with the changes: as the options say, or as the person who is asked. */
async function decide(diff: ForkDiff, exitCode: number, values: { apply?: boolean; discard?: boolean; json?: boolean }): Promise<Decision> {
  if (diff.changes.length === 0 || values.discard === true) return { what: 'discard' }
  if (values.apply === true) return exitCode === 0 ? { what: 'apply' } : { what: 'keep' }
  if (values.json === true || process.stdin.isTTY !== true || process.stdout.isTTY !== true) return { what: 'keep' }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    if (exitCode !== 0) print(shown`The command failed with ${exitCode}.\n`)
    for (;;) {
      const answer = (await terminal.question('Apply? [a]ll, [p]arts, [t]hrow away, [k]eep for later: ')).trim().toLowerCase()
      if (answer === 'a') return { what: 'apply' }
      if (answer === 't') return { what: 'discard' }
      if (answer === 'k') return { what: 'keep' }
      if (answer !== 'p') continue
      const paths = []
      for (const change of diff.changes) {
        const line = changeLine(change).toString().trimEnd()
        if ((await terminal.question(`${line} [y/N] `)).trim().toLowerCase() === 'y') paths.push(change.path)
      }
      return paths.length === 0 ? { what: 'keep' } : { what: 'apply', paths }
    }
  } finally {
    terminal.close()
  }
}

/** Applies the changes, throws them away, or leaves them. A fork of which something is not applied stays. */
async function carryOut(fork: Fork, { what, paths }: Decision): Promise<{ applied?: AppliedFork; isKept: boolean }> {
  const applied = what === 'apply' ? await fork.apply({ ...(paths !== undefined && { paths }) }) : undefined
  const isPart = paths !== undefined || applied?.leftOut.some(({ reason }) => reason === 'protected') === true
  const isKept = what === 'keep' || isPart || (applied !== undefined && applied.conflicts.length > 0)
  if (isKept) await fork.close()
  else await fork.discard()
  return { ...(applied !== undefined && { applied }), isKept }
}
