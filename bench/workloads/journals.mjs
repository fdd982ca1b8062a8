import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defineTool, openJournal, createTools, runWithToolContext } from 'toolwright'
import { writeFileSync } from 'node:fs'
import { z } from 'zod'

/** As the AI SDK makes a call: each has an id of its own. */
const nextCall = ((n) => () => ({ toolCallId: `call-${(n += 1)}`, messages: [] }))(0)
const ROWS = { quick: 5_000, full: 100_000 }

/** A tool that does nothing: all that is measured is what is around a call. */
const act = (sideEffect) =>
  defineTool({
    name: 'act',
    description: 'Do nothing',
    schema: z.object({ what: z.string() }),
    sideEffect,
    idempotent: !sideEffect,
    execute: ({ what }, _ctx) => what,
  })

function around(sideEffect) {
  return async ({ folder }) => {
    const journal = await openJournal(`file:${join(folder, `around-${sideEffect}.db`)}`)
    const tool = act(sideEffect)
    const task = { runId: 'bench', nodeId: 'bench' }
    const verify = (answer) => assert.equal(answer, 'x')
    const run = (context) => () => runWithToolContext(context, () => tool.execute({ what: 'x' }, nextCall()))
    const contenders = { ours: { run: run({ ...task, journal }), verify }, plain: { run: run(task), verify } }
    if (sideEffect) contenders.bare = { run: await bareRows(join(folder, 'bare.db')), verify }
    return contenders
  }
}

/** The least that the two rows take: a row before the effect and its end after it, in the same table, by a library that does nothing else. */
async function bareRows(file) {
  const journal = await openJournal(`file:${file}`)
  await journal.close()
  const database = new DatabaseSync(file)
  // A checkpoint in a statement is what the other has in a thread.
  database.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = normal; PRAGMA wal_autocheckpoint = 0')
  const begin = database.prepare(
    `INSERT INTO _smithers_tool_calls (run_id, node_id, iteration, attempt, seq, call_token, tool_name, input_json, started_at_ms, status, kind,
       side_effect, idempotent, idempotency_key, tw_args_hash, tw_ordinal)
     VALUES ('bench', 'bench', 0, 1, ?, ?, 'act', ?, ?, 'running', 'tool', 1, 0, 'smithers:bench:bench:0', ?, 1)`,
  )
  const end = database.prepare(
    `UPDATE _smithers_tool_calls SET output_json = ?, finished_at_ms = ?, status = 'success', tw_output_bytes = 3
     WHERE run_id = 'bench' AND node_id = 'bench' AND iteration = 0 AND attempt = 1 AND seq = ?`,
  )
  const hash = '0'.repeat(64)
  let seq = 0
  return () => {
    seq += 1
    begin.run(seq, `call-${seq}`, '{"what":"x"}', Date.now(), hash)
    end.run('"x"', Date.now(), seq)
    return 'x'
  }
}

async function aroundRead({ folder }) {
  const journal = await openJournal(`file:${join(folder, 'around-read.db')}`)
  writeFileSync(join(folder, 'read.txt'), 'text\n'.repeat(200))
  const reading = (options) => {
    const { read } = createTools({ rootDir: folder, ...options })
    return { run: () => read.execute({ path: 'read.txt' }, nextCall()), verify: (answer) => assert.equal(answer.length, 1000) }
  }
  return { ours: reading({ journal }), plain: reading({}) }
}

async function listing({ folder, extent }) {
  const journal = await openJournal(`file:${join(folder, 'list.db')}`)
  const rows = ROWS[extent]
  for (let seq = 1; seq <= rows; seq += 1) {
    await journal.insertToolCall({ runId: 'bench', nodeId: 'bench', attempt: 1, seq, toolName: 'act', inputJson: `{"n":${seq}}` })
  }
  return {
    ours: {
      run: () => journal.listToolCalls('bench', 'bench', 0),
      verify: (listed) => assert.equal(listed.length, rows),
    },
  }
}

const often = { quick: { rounds: 20, batch: 10, budgetMs: 1_500 }, full: { rounds: 200, batch: 20, budgetMs: 8_000 } }
const seldom = { quick: { rounds: 3, batch: 1, budgetMs: 2_000 }, full: { rounds: 10, batch: 1, budgetMs: 12_000 } }

export const workloads = [
  { id: 'journal', alone: true, effort: often, contenders: around(true) },
  { id: 'journal-behind', alone: true, effort: often, contenders: around(false) },
  { id: 'journal-read', alone: true, effort: often, contenders: aroundRead },
  { id: 'journal-list', alone: true, effort: seldom, contenders: listing },
]
