import { basename } from 'node:path'
import { once } from 'node:events'
import { openJournal } from '../postgres/open-journal.js'
import { startViewServer } from '../report/view-server.js'
import { print, shown, shownJson, tell } from '../core/terminal.js'
import { withCheckpoints } from './calls/call-checkpoints.js'
import { journalArgument, parseCommandLine, portNumber, shownLocation, UsageError } from './program.js'

const HELP = shown`Usage: toolwright view <journal> [options]

Shows the recorded calls of a journal (file:runs.db, or a path) in a browser, and new calls as they are
recorded, until Ctrl-C. Prints the address of the page. The address holds a secret, and only this machine
can open it. The journal is not changed. 'toolwright report' writes the same page to a file.

  --run <id>     show only the calls of this run
  --dir <path>   show what calls have changed, from the checkpoints of this directory
  --store <path> with --dir: the store of these checkpoints (default: the user's own)
  --port <n>     the port (default: any free one)
  --json         print the address as JSON
  --help         print this text

The exit code is 1 if the journal cannot be read or the port is taken.
`

const options = {
  run: { type: 'string' },
  dir: { type: 'string' },
  store: { type: 'string' },
  port: { type: 'string' },
  json: { type: 'boolean' },
} as const

export async function view(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return 0
  const { values, positionals } = line
  const location = journalArgument('view', positionals)
  const port = values.port === undefined ? undefined : portNumber('view: --port', values.port)
  const journal = await openJournal(location, { readOnly: true })
  try {
    await withCheckpoints('view', values, async (diffs) => {
      const source = basename(shownLocation(journal, location).replace(/^file:/u, ''))
      const server = await start(journal, { source, runId: values.run, diffs, port })
      const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      print(values.json === true ? shown`${shownJson({ url: server.url })}\n` : shown`${server.url}\n`)
      if (values.json !== true) tell(shown`Open the address in a browser; ^C ends the viewer.\n`)
      await interrupted
      await server.close()
    })
  } finally {
    await journal.close()
  }
  return 0
}

async function start(...args: Parameters<typeof startViewServer>) {
  try {
    return await startViewServer(...args)
  } catch (error) {
    throw new UsageError(`view: ${(error as Error).message}`, 1)
  }
}
