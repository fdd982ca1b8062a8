import { fitted, print, shown, shownJson, type TerminalText } from '../core/terminal.js'
import { storedFork } from '../fork/fork-actions.js'
import { collectForks, listForks } from '../fork/open-fork.js'
import { appliedText, collectedText, diffText, listText, statusText, undoneText } from './forks/texts.js'
import { ageOf } from './checkpoints/texts.js'
import { meant, parseCommandLine, UsageError } from './program.js'

const HELP = shown`Usage: toolwright forks <list|status|diff|apply|undo|discard|gc> [options]

  list                   show the forks, the newest first
  status <id>            show the paths that a fork has changed
  diff <id>              show what it has changed
  apply <id> [<path> …]  make its changes in the directory, or those at these paths: all of them or none
  undo <id>              take its last apply back, also when it was discarded
  discard <id>           throw it away
  gc                     remove forks without changes, and what killed programs have left

  --dir <path>       list: only the forks of this directory
  --store <path>     use the forks in this directory (default: the user's own)
  --dry-run          apply: say what would be done
  --no-merge         apply: a text that both sides have changed is a conflict, also where the lines are different ones
  --max-age <time>   gc: remove forks with changes too that are older: 12h, 30d
  --json             print the result as JSON
  --help             print this text

A fork that has been applied stays until it is discarded. The exit code is 1 if it cannot be done, such as when
somebody else has changed a file since the fork was made. Nothing is changed then.
`

const options = {
  dir: { type: 'string' },
  store: { type: 'string' },
  'dry-run': { type: 'boolean' },
  'no-merge': { type: 'boolean' },
  'max-age': { type: 'string' },
  json: { type: 'boolean' },
} as const

/** The most bytes of a diff that is printed. */
const DIFF_BYTES = 4 << 20

const parseLine = (args: string[]) => parseCommandLine(HELP, { args, allowPositionals: true, options })

type Values = NonNullable<ReturnType<typeof parseLine>>['values']
type Action = (values: Values, names: string[]) => Promise<{ json: unknown; text: TerminalText; code?: number }>

const actions: Record<string, Action> = {
  async list({ dir, store }, names) {
    noMore('list', names)
    const found = await listForks({ rootDir: dir, store })
    return { json: found, text: listText(found) }
  },
  async status({ store }, [id, ...others]) {
    noMore('status', others)
    const found = await (await storedFork(named('status', id), store)).status()
    return { json: found, text: statusText(found) }
  },
  async diff({ store }, [id, ...others]) {
    noMore('diff', others)
    const found = await (await storedFork(named('diff', id), store)).diff(DIFF_BYTES)
    return { json: found, text: diffText(found) }
  },
  async apply({ store, 'dry-run': dryRun = false, 'no-merge': isStrict = false }, [id, ...paths]) {
    const name = named('apply', id)
    const applied = await (await storedFork(name, store)).apply({ paths, dryRun, merge: isStrict ? 'refuse' : 'text' })
    return { json: applied, text: appliedText(name, applied, dryRun), code: applied.conflicts.length > 0 ? 1 : 0 }
  },
  async undo({ store }, [id, ...others]) {
    noMore('undo', others)
    const undone = await (await storedFork(named('undo', id), store)).undo()
    return { json: undone, text: undoneText(undone), code: undone.conflicts.length > 0 ? 1 : 0 }
  },
  async discard({ store }, [id, ...others]) {
    noMore('discard', others)
    const name = named('discard', id)
    await (await storedFork(name, store)).discard()
    return { json: { discarded: name }, text: shown`The fork ${name} is discarded.\n` }
  },
  async gc({ store, 'max-age': maxAge }, names) {
    noMore('gc', names)
    const collected = await collectForks({ store, maxAgeMs: maxAge === undefined ? undefined : ageOf('--max-age', maxAge) })
    return { json: collected, text: collectedText(collected) }
  },
}

/** `toolwright forks`. */
export async function forks(args: string[]): Promise<number> {
  const line = parseLine(args)
  if (line === undefined) return 0
  const { values, positionals } = line
  const [what, ...names] = positionals
  const action = what !== undefined && Object.hasOwn(actions, what) ? actions[what] : undefined
  if (action === undefined) {
    throw new UsageError(
      what === undefined
        ? 'forks: list, status, diff, apply, undo, discard or gc?'
        : shown`forks: no command ${shownJson(what)}${meant(what, Object.keys(actions))}`,
    )
  }
  const { json, text, code = 0 } = await action(values, names)
  if (values.json === true) print(shown`${shownJson(json)}\n`)
  else print(what === 'diff' ? text : fitted(text, process.stdout))
  return code
}

function named(what: string, id: string | undefined): string {
  if (id === undefined) throw new UsageError(`forks ${what}: name a fork`)
  return id
}

function noMore(what: string, others: readonly string[]): void {
  if (others.length > 0) throw new UsageError(shown`forks ${what}: unexpected argument ${shownJson(others[0])}`)
}
