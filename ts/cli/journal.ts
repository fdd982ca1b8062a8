import { openServerStore } from '../postgres/open-journal.js'
import { migrationScript } from '../postgres/schema.js'
import { journalArgument, parseCommandLine, UsageError } from './program.js'

const HELP = `Usage: toolwright journal migrate <postgres://…> [options]
       toolwright journal prune <postgres://…> --before <age> [options]

Makes the tables of a journal in PostgreSQL, or brings them up to date; removes old runs.

  --print         print the statements of migrate as a script for psql, and connect to nothing
  --schema <name> the schema of the tables with --print (an address says ?schema=<name>)
  --before <age>  remove runs whose last call is older: 30d, 12h, or a date such as 2026-11-01
  --json          print the number of removed rows as JSON
  --help          print this text

Runs with a call that has no outcome are not removed. The exit code is 1 if the server refuses.
`

const options = {
  print: { type: 'boolean' },
  schema: { type: 'string' },
  before: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** `toolwright journal`. */
export async function journal(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return 0
  const { values, positionals } = line
  const [action, ...others] = positionals
  if (action !== 'migrate' && action !== 'prune') throw new UsageError('journal: say migrate or prune')
  if (action === 'migrate' && values.before !== undefined) throw new UsageError('journal: --before belongs to prune')
  if (action === 'prune' && values.print === true) throw new UsageError('journal: --print belongs to migrate')
  if (values.print === true) {
    process.stdout.write(migrationScript(values.schema))
    return 0
  }
  if (values.schema !== undefined) throw new UsageError('journal: --schema belongs to --print; an address says ?schema=<name>')
  const location = journalArgument('journal', others)
  if (!/^postgres(?:ql)?:\/\//iu.test(location)) throw new UsageError('journal: name a server: postgres://user@host/database')
  const beforeMs = action === 'prune' ? timeOf(values.before) : 0
  const store = await openServerStore(location, { migrates: action === 'migrate' })
  try {
    if (action === 'migrate') {
      await store.migrate()
      process.stdout.write('The tables are up to date.\n')
    } else {
      const removed = await store.prune({ beforeMs })
      process.stdout.write(values.json === true ? `${JSON.stringify({ removed })}\n` : `${removed} rows removed.\n`)
    }
  } finally {
    await store.close()
  }
  return 0
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** The time that an age or a date names, in milliseconds since 1970. */
function timeOf(text: string | undefined): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhdw])$/u.exec(text ?? '') ?? []
  const time = count === undefined ? Date.parse(text ?? '') : Date.now() - Number(count) * (UNITS[unit] ?? 0)
  if (Number.isNaN(time)) throw new UsageError('journal: --before takes an age such as 30d, or a date')
  return time
}
