import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createTools, openJournal, replayRun, runTask, runWithToolContext, type ToolCallRow } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../../support/refusal.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+2\n*** Add File: b.txt\n+b\n*** End Patch\n'
const success = 'Success. Updated the following files:\nM a.txt\nA b.txt\n'

describe.skipIf(process.platform !== 'linux')('apply_patch as a program', () => {
  test('the program itself, a here-document and another directory', async () => {
    const forms = [
      ['', { cmd: 'apply_patch', args: [patch] }],
      ['', { cmd: 'sh', args: ['-c', `apply_patch <<'EOF'\n${patch}EOF`] }],
      ['sub/', { cmd: 'sh', args: ['-c', 'cd sub && apply_patch "$0"', patch] }],
      ['sub/', { cmd: 'apply_patch', args: [patch], opts: { cwd: 'sub' } }],
    ] as const
    for (const [below, call] of forms) {
      const fixture = makeSandbox()
      fixture.put(`${below}a.txt`, '1\n')
      const { bash } = createTools({ rootDir: fixture.root })
      expect(await bash.execute({ ...call, args: [...call.args] })).toBe(success)
      expect([fixture.text(`${below}a.txt`), fixture.text(`${below}b.txt`)]).toEqual(['2\n', 'b\n'])
    }
  })

  test('a refusal has the words of the tool, and nothing is changed', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'other\n')
    const { bash, apply_patch } = createTools({ rootDir: fixture.root, extraTools: ['apply_patch'] })
    const [ofTool, ofProgram] = [
      await refusal(apply_patch.execute({ patch })),
      await refusal(bash.execute({ cmd: 'apply_patch', args: [patch] })),
    ]
    const [what, hint] = ofTool.message.split(' [TOOL_PATCH_FAILED] ')
    expect(ofProgram.message).toContain(`${what}\n${hint}`)
    expect(fixture.text('a.txt')).toBe('other\n')
    for (const path of ['.git/HEAD', '.git/hooks/sample']) fixture.put(path, 'x')
    const hooks = patch.replace('b.txt', '.git/hooks/pre-commit').replace('-1', '-other')
    await refusal(bash.execute({ cmd: 'apply_patch', args: [hooks] }))
    expect(fixture.text('a.txt')).toBe('other\n')
  })

  const rowsOf = async (script: string, options: { extra?: object; a?: string } = {}) => {
    const fixture = makeSandbox()
    fixture.put('a.txt', options.a ?? '1\n')
    fixture.put('sub/a.txt', '1\n')
    const journal = await openJournal(':memory:')
    const { bash } = createTools({ rootDir: fixture.root, journal, runId: 'r', ...options.extra })
    const end = await bash.execute({ cmd: 'sh', args: ['-c', script, patch] }).catch((error: unknown) => error)
    const rows = await journal.listRun('r')
    await journal.close()
    return { fixture, rows: rows as [ToolCallRow, ...ToolCallRow[]], end }
  }
  const inputOf = ({ inputJson }: ToolCallRow) => JSON.parse(inputJson ?? '') as Record<string, unknown>

  test('every patch has a row like that of the tool', async () => {
    const { rows } = await rowsOf('apply_patch "$0" && cd sub && apply_patch "$0"; printf "%s" "$0" > ../patch; apply_patch < ../patch')
    expect(rows.map(({ toolName, seq, status, acted }) => [toolName, seq, status, acted])).toEqual([
      ['bash', 1, 'error', true],
      ['apply_patch', 2, 'success', true],
      ['apply_patch', 3, 'success', true],
      ['apply_patch', 4, 'error', false],
    ])
    const [, first, second, refused] = rows as unknown as [ToolCallRow, ToolCallRow, ToolCallRow, ToolCallRow]
    // The row of the tool itself.
    const fixture = makeSandbox()
    fixture.put('a.txt', '1\n')
    const journal = await openJournal(':memory:')
    await createTools({ rootDir: fixture.root, journal, runId: 'r', extraTools: ['apply_patch'] }).apply_patch.execute({ patch })
    const [ofTool] = (await journal.listRun('r')) as [ToolCallRow]
    await journal.close()
    expect(inputOf(first)).toEqual({ ...inputOf(ofTool), directory: '.', inside: { tool: 'bash', seq: 1 } })
    expect(inputOf(second)).toMatchObject({ directory: 'sub', inside: { tool: 'bash', seq: 1 } })
    for (const name of ['outputJson', 'sideEffect', 'idempotent', 'hasRevert'] as const) expect(first[name]).toEqual(ofTool[name])
    expect(first.startedAtMs).toBeGreaterThanOrEqual(rows[0].startedAtMs)
    expect(JSON.parse(refused.errorJson ?? '')).toMatchObject({ code: 'TOOL_PATCH_FAILED' })
    // A record holds no lines of files and patches.
    expect(refused.errorJson).toMatchInlineSnapshot(
      `"{"name":"ToolError","message":"Failed to apply patch: \`a.txt\`: hunk 1 (@@) does not fit the file: line 1 should be  (the lines that were shown are not kept)","code":"TOOL_PATCH_FAILED","summary":"Failed to apply patch: \`a.txt\`: hunk 1 (@@) does not fit the file: line 1 should be  (the lines that were shown are not kept)","hint":"","details":{}}"`,
    )
  })

  test('a patch that was killed is recorded as unknown', async () => {
    const script = `yes '*** Add File: d/x' | head -3000 | awk '{print $0 NR; print "+x"}' > body
      { echo '*** Begin Patch'; cat body; echo '*** End Patch'; } > patch
      apply_patch < patch & while [ ! -e d ]; do :; done; kill -9 $!; wait`
    const { rows } = await rowsOf(script)
    expect(rows.map(({ toolName, status, acted }) => [toolName, status, acted])).toEqual([
      ['bash', 'success', true],
      ['apply_patch', 'unknown', true],
    ])
    expect(JSON.parse(rows[1]?.errorJson ?? '')).toMatchObject({ message: expect.stringContaining('finishes or undoes it') as string })
    expect(inputOf(rows[1] as ToolCallRow)).toMatchObject({ moreFiles: expect.any(Number) as number })
  })

  test('a command that times out or is aborted leaves the rows of its patches', async () => {
    const timedOut = await rowsOf('apply_patch "$0"; sleep 30', { extra: { toolTimeoutMs: 1500 } })
    expect(timedOut.rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['bash', 'error'],
      ['apply_patch', 'success'],
    ])
    const fixture = makeSandbox()
    fixture.put('a.txt', '1\n')
    const journal = await openJournal(':memory:')
    const { bash } = createTools({ rootDir: fixture.root, journal, runId: 'r' })
    const stop = new AbortController()
    const call = bash.execute({ cmd: 'sh', args: ['-c', 'apply_patch "$0"; sleep 30', patch] }, { abortSignal: stop.signal })
    while (fixture.text('a.txt') === '1\n') await new Promise((resolve) => setTimeout(resolve, 5))
    await new Promise((resolve) => setTimeout(resolve, 100))
    stop.abort()
    await expect(call).rejects.toThrow()
    expect((await journal.listRun('r')).map(({ toolName, status }) => [toolName, status])).toEqual([
      ['bash', 'unknown'],
      ['apply_patch', 'success'],
    ])
    await journal.close()
  })

  test('the rows come with streamed output too, and to the recorder of a host', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', '1\n')
    const journal = await openJournal(':memory:')
    const { bash } = createTools({ rootDir: fixture.root, journal, runId: 'r', streamOutput: true })
    for await (const _ of bash.execute({ cmd: 'apply_patch', args: [patch] }) as AsyncIterable<string>);
    expect((await journal.listRun('r')).map(({ toolName }) => toolName)).toEqual(['bash', 'apply_patch'])
    await journal.close()
    const told: [string, string, number][] = []
    fixture.put('a.txt', '1\n')
    const context = {
      runId: 'r',
      nodeId: 'n',
      recordToolCall: async ({ toolName, phase, seq }: { toolName: string; phase: string; seq: number }) =>
        void told.push([toolName, phase, seq]),
    }
    const tools = createTools({ rootDir: fixture.root })
    await runWithToolContext(context, () => tools.bash.execute({ cmd: 'apply_patch', args: [patch] }))
    expect(told).toEqual([
      ['bash', 'started', 1],
      ['apply_patch', 'started', 2],
      ['apply_patch', 'finished', 2],
      ['bash', 'finished', 1],
    ])
  })

  test('the message of the call names the changed files', async () => {
    const fixture = makeSandbox()
    fixture.put('sub/a.txt', '1\n')
    const seen: unknown[] = []
    const hear = (message: unknown): void => void seen.push((message as { changedFiles?: unknown }).changedFiles)
    subscribe('tracing:toolwright:call:asyncEnd', hear)
    try {
      const { bash } = createTools({ rootDir: fixture.root })
      await bash.execute({ cmd: 'apply_patch', args: [patch], opts: { cwd: 'sub' } })
      await bash.execute({ cmd: 'true' })
    } finally {
      unsubscribe('tracing:toolwright:call:asyncEnd', hear)
    }
    expect(seen).toEqual([['sub/a.txt', 'sub/b.txt'], undefined])
  })

  test('a replay gives the calls of tools, and a retry is warned of the patch', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', '1\n')
    const journal = await openJournal(':memory:')
    const tools = createTools({ rootDir: fixture.root })
    const program = () => tools.bash.execute({ cmd: 'apply_patch', args: [patch] })
    await runTask({ journal, runId: 'r', nodeId: 'n' }, async () => {
      await program()
      throw new Error('later')
    }).catch(() => undefined)
    const calls: string[] = []
    for await (const { toolName } of replayRun(journal, 'r')) calls.push(toolName)
    expect(calls).toEqual(['bash'])
    expect(await replayRun(journal, 'r').drive(() => runTask({ journal, runId: 'r', nodeId: 'n' }, program))).toBe(success)
    const warning = await runTask({ journal, runId: 'r', nodeId: 'n' }, async (task) => task.warning)
    expect(warning).toContain('- tool apply_patch (attempt 1, seq 2, status succeeded)\n  on M a.txt, A b.txt (in bash, seq 1)')
    await journal.close()
  })
})
