import { openServerStore } from '../postgres/open-journal.js'
import { type MigrationOptions, migrationScript } from '../postgres/schema.js'
import { joined, print, shown, shownJson, shownLines, tell, type TerminalText } from '../core/terminal.js'
import { journalArgument, meant, parseCommandLine, UsageError } from './program.js'

const HELP = shown`Usage: toolwright journal migrate <postgres://…> [options]
       toolwright journal prune <postgres://…> --before <age> [options]
       toolwright journal archive <postgres://…> --before <age> --to <folder> [options]

Makes the tables of a journal in PostgreSQL, or brings them up to date; removes old runs; writes old runs to
Parquet files, and removes them when those are on the disk.

  --partition day  keep the calls in a partition for each day, from migrate on; a table that is there becomes
                   the first one
  --print          print the statements of migrate as a script for psql, and connect to nothing
  --schema <name>  the schema of the tables with --print (an address says ?schema=<name>)
  --before <age>   runs whose last call is older: 30d, 12h, or a date such as 2026-11-01
  --to <folder>    the folder of the files, day=YYYY-MM-DD/*.parquet in it
  --keep           archive without removing anything
  --json           print what was removed or written as JSON
  --help           print this text

Runs with a call that is under way stay. The exit code is 1 if the server or the folder refuses, or if
a run stays because no archive can hold it; the others are archived. An archive needs the package
hyparquet-writer.
`

const options = {
  partition: { type: 'string' },
  print: { type: 'boolean' },
  schema: { type: 'string' },
  before: { type: 'string' },
  to: { type: 'string' },
  keep: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

const ACTIONS = ['migrate', 'prune', 'archive'] as const

/** The options of one action alone. */
const BELONGS = { partition: 'migrate', print: 'migrate', to: 'archive', keep: 'archive' } as const

/** `toolwright journal`. */
export async function journal(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return 0
  const { values, positionals } = line
  const [said, ...others] = positionals
  const action = ACTIONS.find((name) => name === said)
  if (action === undefined)
    throw new UsageError(shown`journal: say migrate, prune or archive${said === undefined ? '' : meant(said, ACTIONS)}`)
  for (const [name, owner] of Object.entries(BELONGS) as [keyof typeof BELONGS, string][]) {
    if (values[name] !== undefined && action !== owner) throw new UsageError(`journal: --${name} belongs to ${owner}`)
  }
  if (action === 'migrate' && values.before !== undefined) throw new UsageError('journal: --before belongs to prune and archive')
  if (values.partition !== undefined && values.partition !== 'day') throw new UsageError('journal: --partition takes day')
  const layout: MigrationOptions = values.partition === undefined ? {} : { partition: 'day' }
  if (values.print === true) {
    // The script is for psql, and shows the name as it stands.
    if (/[\p{C}\p{Zl}\p{Zp}]/u.test(values.schema ?? '')) throw new UsageError('journal: --schema has characters that no terminal shows')
    print(shownLines(migrationScript(values.schema, layout)))
    return 0
  }
  if (values.schema !== undefined) throw new UsageError('journal: --schema belongs to --print; an address says ?schema=<name>')
  const location = journalArgument('journal', others)
  if (!/^postgres(?:ql)?:\/\//iu.test(location)) throw new UsageError('journal: name a server: postgres://user@host/database')
  const beforeMs = action === 'migrate' ? 0 : timeOf(values.before)
  if (action === 'archive' && values.to === undefined) throw new UsageError('journal: archive takes --to <folder>')
  const store = await openServerStore(location, { migrates: action === 'migrate' })
  const answer = (result: object, text: TerminalText): void => {
    print(values.json === true ? shown`${shownJson(result)}\n` : shown`${text}\n`)
  }
  let code = 0
  try {
    if (action === 'migrate') {
      await store.migrate(layout)
      print(shown`The tables are up to date.\n`)
    } else if (action === 'prune') {
      const removed = await store.prune({ beforeMs })
      answer({ removed }, shown`${removed} rows removed.`)
    } else {
      const written = await store.archive({ beforeMs, directory: String(values.to), keep: values.keep === true })
      const sum = shown`${written.rows} rows written${values.keep === true ? '' : ', and removed'}.`
      answer(written, joined([...written.files, sum], shown`\n`))
      for (const what of written.left) tell(shown`toolwright: journal archive: left in the journal: ${what}\n`)
      if (written.left.length > 0) code = 1
    }
  } finally {
    await store.close()
  }
  return code
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** The time that an age or a date names, in milliseconds since 1970. */
function timeOf(text: string | undefined): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhdw])$/u.exec(text ?? '') ?? []
  const time = count === undefined ? Date.parse(text ?? '') : Date.now() - Number(count) * (UNITS[unit] ?? 0)
  if (Number.isNaN(time)) throw new UsageError('journal: --before takes an age such as 30d, or a date')
  return time
}
