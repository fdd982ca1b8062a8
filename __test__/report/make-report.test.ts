import { gunzipSync } from 'node:zlib'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { callTexts } from '../../ts/report/call-texts.ts'
import { shownTarget } from '../../ts/report/shown-target.ts'
import { packReport, reportCall } from '../../ts/report/make-report.ts'
import { pageHtml } from '../../ts/report/page-html.ts'
import { leftOutText, type ReportData } from '../../ts/report/report-data.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { HOSTILE, START, writeRun } from './recorded-run.ts'

const unpack = (base64: string): ReportData => JSON.parse(gunzipSync(Buffer.from(base64, 'base64')).toString()) as ReportData

async function openRun(shape: Parameters<typeof writeRun>[1]) {
  const { root } = makeSandbox()
  await writeRun(`${root}/runs.db`, shape)
  const journal = await openJournal(`file:${root}/runs.db`, { readOnly: true })
  onTestFinished(() => journal.close())
  return journal
}

describe('a report', () => {
  test('has every call with its texts', async () => {
    const { base64, calls, isCut } = await packReport(await openRun({ calls: 60 }), { source: 'runs.db' })
    const report = unpack(base64)
    expect({ calls, isCut, source: report.source }).toEqual({ calls: 60, isCut: false, source: 'runs.db' })
    expect(report.calls.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
    expect(report.calls[7]).toMatchObject({ tool: 'edit', ending: 'refused', target: 'src/sum.ts', startedAtMs: START + 1_750 })
    expect(report.calls[9]).toMatchObject({ tool: 'bash', ending: 'unknown', target: 'npm test -- --only 9' })
    expect(report.texts[report.calls[1]?.row ?? 0]).toMatchObject({
      output: { text: 'ok', leftOut: 0, form: 'text' },
      replacement: { path: 'src/sum.ts', before: 'const a = 1\nreturn a\n', after: 'const a = 2\nreturn a\n' },
    })
  })

  test('has the calls of one run', async () => {
    const { base64 } = await packReport(await openRun({ calls: 40, runs: 2 }), { source: 'runs.db', runId: 'run-2' })
    expect(new Set(unpack(base64).calls.map(({ runId }) => runId))).toEqual(new Set(['run-2']))
  })

  test('has the latest calls of a large journal, and says what it leaves out', async () => {
    const journal = await openRun({ calls: 40, runs: 4 })
    const made = async (options: object) => {
      const { base64, calls, leftOut } = await packReport(journal, { source: 'runs.db', ...options })
      const data = unpack(base64)
      expect({ calls, leftOut }).toEqual({ calls: data.calls.length, leftOut: data.leftOut })
      return [data.calls.map(({ seq }) => seq), data.leftOut && leftOutText(data.leftOut)] as const
    }
    const last = (count: number) => Array.from({ length: count }, (_, index) => 41 - count + index)
    expect(await made({ maxCalls: 40 })).toEqual([last(40), null])
    // Two runs of four, and half of another.
    const earlier = 'Only the latest calls are shown: 15 earlier ones are left out.'
    expect(await made({ maxCalls: 25 })).toEqual([last(25), earlier])
    expect(await made({ maxCalls: 25, maxListed: 5 }), 'read one after the other').toEqual([last(25), earlier])
    expect(await made({ maxCalls: 5, runId: 'run-1' })).toEqual([
      [6, 7, 8, 9, 10],
      'Only the latest calls are shown: 5 earlier ones are left out.',
    ])
    // As many runs as calls are looked at, and one more.
    const [seqs, text] = await made({ maxCalls: 2 })
    expect([seqs, text]).toEqual([[39, 40], 'Only the latest calls are shown: more than 28 earlier ones are left out.'])
  })

  test('cuts texts until it fits, and says how much it left out', async () => {
    // Texts that do not compress.
    const output = Array.from({ length: 4_000 }, () => Math.random().toString(36)).join('')
    const journal = await openRun({ calls: 30, output })
    const { base64, isCut } = await packReport(journal, { source: 'runs.db', maxBytes: 300_000 })
    expect(base64.length).toBeLessThanOrEqual(300_000)
    expect(isCut).toBe(true)
    const { calls, texts } = unpack(base64)
    expect(calls).toHaveLength(30)
    const shown = texts[calls[0]?.row ?? 0]?.output
    expect(shown?.text).toContain(`[… ${shown?.leftOut.toLocaleString('en')} characters are left out of this report …]`)
    expect(shown?.text.startsWith(output.slice(0, 50))).toBe(true)
    expect(shown?.text.endsWith(output.slice(-50))).toBe(true)
  })
})

describe('the texts of a call', () => {
  const row = async (call: object) => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    await journal.insertToolCall({ runId: 'r', nodeId: 'n', attempt: 1, seq: 1, toolName: 'bash', status: 'success', ...call })
    await journal.flush()
    const [only] = await journal.listRun('r')
    return only as NonNullable<typeof only>
  }

  test('of an envelope are its data and notes', async () => {
    const envelope = { type: 'output', data: { output: 'one\ntwo\n' }, metadata: { duration_ms: 1, code: 'ok', notes: ['cut'] } }
    expect(callTexts(await row({ outputJson: JSON.stringify(envelope) }), 1_000)).toMatchObject({
      output: { text: 'one\ntwo\n', form: 'text' },
      notes: ['cut'],
    })
  })

  test('of a command are its output without escapes, and how it ended', async () => {
    const data = { stdout: 'one\n"two"\n', stderr: '', exit_code: 3, timed_out: false }
    const envelope = { type: 'output', data, metadata: { duration_ms: 1, code: 'ok' } }
    expect(callTexts(await row({ outputJson: JSON.stringify(envelope) }), 1_000).output).toEqual({
      text: 'stderr: (empty)\nexit_code: 3\ntimed_out: false\nstdout:\none\n"two"\n',
      leftOut: 0,
      form: 'text',
    })
    // What has parts of its own stays JSON.
    const nested = { text: 'one\ntwo', parts: [1] }
    expect(callTexts(await row({ outputJson: JSON.stringify(nested) }), 1_000).output?.form).toBe('json')
  })

  test('of a patch are a diff', async () => {
    const patch = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n'
    const texts = callTexts(await row({ inputJson: JSON.stringify({ path: 'x', patch }), outputJson: JSON.stringify(patch) }), 1_000)
    expect(texts).toMatchObject({ diff: { text: patch, form: 'diff' }, output: { text: patch, form: 'diff' } })
  })

  test('of an apply or an undo of a fork are the paths that it changed', async () => {
    const change = { path: 'a.txt', kind: 'modified', type: 'file', conflict: null, isMerged: true }
    const made = { path: 'n', kind: 'created', type: 'directory', conflict: null, isMerged: false }
    const applied = { applied: [change, made], conflicts: [], leftOut: [{ path: '.vscode/a', reason: 'protected' }], commits: null }
    const conflict = { ...change, isMerged: false, conflict: 'base-changed' }
    const of = async (toolName: string, output: unknown, input: unknown = { fork: 'f-1' }) => {
      const call = await row({ toolName, inputJson: JSON.stringify(input), outputJson: JSON.stringify(output) })
      return [shownTarget(call), callTexts(call, 1_000).output?.text]
    }
    expect(await of('fork_apply', applied, { fork: 'f-1', paths: ['a.txt', 'n'] })).toEqual([
      'f-1: a.txt, n',
      '~ a.txt (merged)\n+ n/\n! .vscode/a (left out: protected)',
    ])
    expect(await of('fork_apply', { ...applied, applied: [], conflicts: [conflict], leftOut: [] })).toEqual([
      'f-1',
      '~ a.txt (conflict: base-changed)',
    ])
    expect(await of('fork_undo', { undone: [], conflicts: [] })).toEqual(['f-1', 'nothing has changed'])
    // Another shape is shown as it is.
    expect(await of('fork_apply', { applied: 1 })).toEqual(['f-1', '{\n  "applied": 1\n}'])
  })

  test('of subagents and of forks say what each fork has changed, and what became of it', async () => {
    const change = (path: string, kind = 'modified', type = 'file') => ({ path, kind, type, conflict: null, isMerged: false })
    const of = async (toolName: string, output: unknown, input: unknown = { fork: 'f-1' }) => {
      const call = reportCall(await row({ toolName, inputJson: JSON.stringify(input), outputJson: JSON.stringify(output) }))
      return [call.fork, call.changes.map(({ path }) => path)]
    }
    const envelope = (fork: unknown) => ({ type: 'output', data: { session_id: 's', output: 'done', fork }, metadata: { duration_ms: 1 } })
    const changes = [{ path: 'a', kind: 'created' }]
    const input = { subagent_type: 'coder', prompt: 'Fix it.' }
    expect(await of('task', envelope({ id: 'f-1', changes, more_changes: 2 }), input)).toEqual([
      { id: 'f-1', what: 'changed', agent: 'coder', changes, more: 2 },
      [],
    ])
    expect(await of('task', envelope({ id: null, changes: [] }), input)).toEqual([null, []])
    const applied = { applied: [change('a'), change('d', 'created', 'directory')], conflicts: [], leftOut: [], commits: null }
    const known = { id: 'f-1', agent: null, changes: [{ path: 'a', kind: 'modified' }], more: 0 }
    expect(await of('fork_apply', applied)).toEqual([{ ...known, what: 'applied' }, ['a']])
    expect(await of('fork_apply', { ...applied, applied: [], conflicts: [change('a')] })).toEqual([{ ...known, what: 'conflict' }, []])
    expect(await of('fork_undo', { undone: [change('a')], conflicts: [] })).toEqual([{ ...known, what: 'undone' }, []])
    expect(await of('fork_discard', null)).toEqual([{ ...known, what: 'discarded', changes: [] }, []])
    // Another shape says nothing.
    for (const odd of [{ id: 7, changes: 'x' }, 'fork', [], { id: 'x'.repeat(500), changes: [{ path: 1 }, null], more_changes: 'y' }]) {
      const [fork] = await of('task', envelope(odd), input)
      expect(fork === null || (typeof fork === 'object' && 'id' in fork && fork.id.length <= 200)).toBe(true)
    }
  })

  test.each(['{"cut', '\u0000', '[]', '""', 'null', '1e999'])('are shown where the row holds %j', async (json) => {
    const odd = { ...(await row({})), inputJson: json, outputJson: json, errorJson: json }
    expect(() => [callTexts(odd, 100), reportCall(odd)]).not.toThrow()
  })

  test('keep whole characters where they are cut', async () => {
    const { output } = callTexts(await row({ outputJson: JSON.stringify('🙂'.repeat(500)) }), 101)
    expect(output?.text).not.toMatch(/\p{Surrogate}/u)
  })
})

describe('the page', () => {
  test('escapes its title, and its policy names its own script and style alone', () => {
    const page = pageHtml({ title: HOSTILE, base64: 'AAAA' })
    expect(page).toContain('<title>&lt;/script>&lt;script>')
    expect(page.match(/<script/gu)).toHaveLength(2)
    expect(page.match(/<\/script>/gu)).toHaveLength(2)
    const [, policy] = /Content-Security-Policy" content="([^"]+)"/u.exec(page) ?? []
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'$/u,
    )
  })
})
