import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { openJournal } from '../journal/open-journal.js'
import { fitted, joined, print, shown, shownJson, tell, type TerminalText } from '../core/terminal.js'
import { type AuditedFile, changedFiles } from './audit/changed-files.js'
import { writableHostPath } from '../core/host-program.js'
import { parseCommandLine, UsageError, version } from './program.js'
import { startProgress } from './progress.js'

const HELP = shown`Usage: toolwright audit <directory> [options]

Lists the files below a directory that have changed and that programs of yours run or obey later: scripts of
packages, Makefiles, node_modules/.bin, hooks and configurations of git, settings of editors and agents,
pipelines. An agent has to be able to write most of them, so look at them before you run them. Nothing is changed.
Run it from a package outside of the directory: one inside may be among what has changed.

  --journal <file>  list what has changed since the first call of this journal
  --since <time>    list what has changed since this time: 2026-01-31T12:00:00Z, or 90m, 12h, 7d ago
  --json            print one JSON object: { root, since, files: [{ path, by, changedAt, isExecutable }] }
  --help            print this text

Without --journal and --since, all such files are listed. A change by you is listed like any other.
`

const options = { journal: { type: 'string' }, since: { type: 'string' }, json: { type: 'boolean' } } as const

/** `toolwright audit`. */
export async function audit(args: string[]): Promise<number> {
  const parsed = parseCommandLine(HELP, { args, options, allowPositionals: true })
  if (parsed === undefined) return 0
  const [root, ...others] = parsed.positionals
  if (root === undefined) throw new UsageError('audit: name a directory')
  if (others.length > 0) throw new UsageError('audit: name one directory')
  const found = await stat(root).catch(() => undefined)
  if (found?.isDirectory() !== true) throw new UsageError(shown`audit: ${shownJson(root)} is no directory`, 1)
  const { journal, since, json } = parsed.values
  if (journal !== undefined && since !== undefined) throw new UsageError('audit: name either --journal or --since')
  const sinceMs = journal === undefined ? timeOf(since) : await beginOf(journal)
  // A changed program says what it likes; one that was not changed says this.
  const own = writableHostPath(root, {})
  if (own !== undefined) {
    tell(
      shown`toolwright: audit: this program is ${own}, in the directory that it looks at, so a command may have changed it too. Run one from elsewhere: cd / && npx toolwright@${version()} audit ${resolve(root)}\n`,
    )
  }
  const files = await listFiles(root, sinceMs)
  if (json === true) {
    const listed = files.map(({ changedAtMs, ...file }) => ({ ...file, changedAt: isoTime(changedAtMs) }))
    const sinceTime = sinceMs === 0 ? null : isoTime(sinceMs)
    print(shown`${shownJson({ root, since: sinceTime, files: listed }, { indented: true })}\n`)
    return 0
  }
  print(files.length === 0 ? shown`Nothing of what programs run or obey has changed.\n` : fitted(table(files), process.stdout))
  return 0
}

async function listFiles(root: string, sinceMs: number): Promise<AuditedFile[]> {
  const progress = startProgress(process.stderr)
  const files: AuditedFile[] = []
  let directories = 0
  try {
    const onDirectory = (): void => progress.show(shown`looking at directories: ${(directories += 1)}`)
    for await (const file of changedFiles(root, sinceMs, onDirectory)) files.push(file)
  } finally {
    progress.end()
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** A line for each file, behind a line for what obeys them. */
function table(files: readonly AuditedFile[]): TerminalText {
  const parts = [...new Set(files.map(({ by }) => by))].map((by) => {
    const members = files.filter((file) => file.by === by)
    const lines = members.map(({ path, changedAtMs }) => shown`  ${timeText(changedAtMs)}  ${path}\n`)
    return shown`${by}:\n${joined(lines)}`
  })
  return joined(parts, shown`\n`)
}

const isoTime = (ms: number): string | null => (Number.isNaN(new Date(ms).getTime()) ? null : new Date(ms).toISOString())

/** To the second. The change of a file may have any time that its file system can hold. */
function timeText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms` : `${date.toISOString().slice(0, 19)}Z`
}

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function timeOf(text: string | undefined): number {
  if (text === undefined) return 0
  const [, count, unit] = /^(\d{1,6})([mhd])$/u.exec(text) ?? []
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS[unit ?? ''] ?? 0)
  if (Number.isNaN(at)) throw new UsageError(shown`--since is a time such as 2026-01-31T12:00:00Z or 12h, not ${shownJson(text)}`)
  return at
}

/** When the first call of a journal began. */
async function beginOf(location: string): Promise<number> {
  const journal = await openJournal(location, { readOnly: true })
  try {
    const runs = await journal.listRuns()
    const begins = runs.map(({ startedAtMs }) => startedAtMs)
    if (begins.length === 0) throw new UsageError(`audit: no calls are recorded in ${location}`, 1)
    return Math.min(...begins)
  } finally {
    await journal.close()
  }
}
