/** `toolwright calls settle`: a person says what became of a call that nobody can decide. */
import { userInfo } from 'node:os'
import { joined, print, shown, shownJson } from '../../core/terminal.js'
import type { ToolCallRow } from '../../journal/journal-store.js'
import { type SettledCall, settleCall, unsettledCalls } from '../../journal/settle-call.js'
import { openJournal } from '../../postgres/open-journal.js'
import { chosenRuns, journalArgument, parseCommandLine, UsageError } from '../program.js'

const HELP = shown`Usage: toolwright calls settle <journal> [--run <id>]
       toolwright calls settle <journal> --run <id> --call <id> --as done|failed|not-done [options]
       toolwright calls settle <journal> --run <id> --row <number> --as done|failed|not-done [options]

Without --call and --row, lists the calls whose outcome is unknown, or that have not ended. With one, records what you have found out about one:
done (whoever executes it again gets the output), failed, or not-done (it is made when it is executed again). The row keeps
your name.

  --call <id>      the id of the call
  --row <number>   the number of its row, where several calls have its id, or it has none
  --as <outcome>   done, failed, or not-done
  --output <json>  the result of a call that is done
  --by <name>      who says so; without it, the user of this system
  --note <text>    why
  --json           print JSON
  --help           print this text

Settle a call that has not ended only when you know that nobody makes it any more. The exit code is 1 if there is no such call, or if it
has a known outcome.
`

const options = {
  run: { type: 'string' },
  call: { type: 'string' },
  row: { type: 'string' },
  as: { type: 'string' },
  output: { type: 'string' },
  by: { type: 'string' },
  note: { type: 'string' },
  json: { type: 'boolean' },
} as const

export async function settle(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, allowPositionals: true, options })
  if (line === undefined) return 0
  const { values, positionals } = line
  const location = journalArgument('calls settle', positionals)
  const isJson = values.json === true
  const wanted = values.call === undefined && values.row === undefined ? undefined : wantedOf(values)
  if (wanted === undefined && [values.as, values.output, values.by, values.note].some((value) => value !== undefined)) {
    throw new UsageError('calls settle: name the call with --call or --row')
  }
  const journal = await openJournal(location, { readOnly: wanted === undefined })
  try {
    if (wanted === undefined) {
      if (values.run !== undefined) await chosenRuns(journal, values.run, location)
      const rows = await unsettledCalls(journal, values.run)
      for (const row of rows) print(isJson ? shown`${shownJson(briefly(row))}\n` : lineOf(row))
      if (rows.length === 0 && !isJson) print(shown`Every call has a known outcome.\n`)
      return 0
    }
    const row = await settleCall(journal, wanted)
    const { outcome, by } = wanted
    print(
      isJson
        ? shown`${shownJson({ ...briefly(row), outcome, by })}\n`
        : shown`${row.toolName} (row ${row.row}) is settled as ${outcome}.\n`,
    )
    return 0
  } finally {
    await journal.close()
  }
}

interface Said {
  run?: string
  call?: string
  row?: string
  as?: string
  output?: string
  by?: string
  note?: string
}

function wantedOf({ run: runId, call: callId, row, as, output, by = userInfo().username, note }: Said): SettledCall {
  if (runId === undefined) throw new UsageError('calls settle: name the run with --run')
  const outcome = (['done', 'failed', 'not-done'] as const).find((one) => one === as)
  if (outcome === undefined) throw new UsageError('calls settle: --as takes done, failed or not-done')
  if (output !== undefined && outcome !== 'done') throw new UsageError('calls settle: --output belongs to --as done')
  if (callId !== undefined && row !== undefined) throw new UsageError('calls settle: name the call with --call or with --row')
  if (row !== undefined && !/^[1-9]\d{0,14}$/u.test(row)) throw new UsageError('calls settle: --row takes the number of a row')
  const which = row === undefined ? { callId } : { row: Number(row) }
  return { runId, ...which, outcome, by, ...(output !== undefined && { output: parsed(output) }), ...(note !== undefined && { note }) }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch {
    throw new UsageError('calls settle: --output takes JSON: a text needs its quotes')
  }
}

const briefly = ({ row, runId, nodeId, callToken, toolName, status, startedAtMs, inputJson }: ToolCallRow) => ({
  row,
  runId,
  nodeId,
  callId: callToken,
  toolName,
  status,
  startedAtMs,
  inputJson,
})

function lineOf({ row, runId, callToken, toolName, status, startedAtMs, inputJson }: ToolCallRow) {
  const began = new Date(startedAtMs).toISOString()
  const facts = [
    shown`row ${row}`,
    shown`run ${shownJson(runId)}`,
    ...(callToken === null ? [] : [shown`call ${shownJson(callToken)}`]),
    toolName,
    status,
    began,
    (inputJson ?? '').slice(0, 200),
  ]
  return shown`${joined(facts, shown`  `)}\n`
}
