import { existsSync } from 'node:fs'
import { openJournal } from 'toolwright'
import { replaySession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { allowAll, dataOf, openScene } from '../../scene.ts'

const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+2\n*** Add File: b.txt\n+b\n*** End Patch\n'
const success = 'Success. Updated the following files:\nM a.txt\nA b.txt\n'

describe.skipIf(process.platform !== 'linux')('apply_patch as a program', () => {
  test('a here-document, an argument and another directory', async () => {
    for (const [below, command] of [
      ['', `apply_patch <<'EOF'\n${patch}EOF`],
      ['', `apply_patch '${patch}'`],
      ['sub/', `cd sub && apply_patch <<'EOF'\n${patch}EOF`],
    ] as const) {
      const { call, put, text } = await openScene()
      put(`${below}a.txt`, '1\n')
      expect(dataOf(await call('bash', { command }))).toMatchObject({ stdout: success, exit_code: 0 })
      expect([text(`${below}a.txt`), text(`${below}b.txt`)]).toEqual(['2\n', 'b\n'])
    }
  })

  test('what the sandbox protects refuses the whole patch', async () => {
    const { call, put, text, at } = await openScene()
    put('a.txt', '1\n')
    put('.git/HEAD', 'ref: refs/heads/main\n')
    const command = `apply_patch '${patch.replace('b.txt', '.git/hooks/pre-commit')}'`
    const { exit_code, stderr } = dataOf(await call('bash', { command }))
    expect(exit_code).toBe(1)
    expect(stderr).toContain('.git/hooks')
    expect(text('a.txt')).toBe('1\n')
    expect(existsSync(at('.git/hooks/pre-commit'))).toBe(false)
  })

  test('the envelope names the changed files, and each patch has a row beside the calls', async () => {
    const journal = await openJournal(':memory:')
    const { session, call, put } = await openScene({ journal })
    put('sub/a.txt', '1\n')
    const command = `cd sub && apply_patch '${patch}'; apply_patch '${patch}'`
    const envelope = await call('bash', { command }, { callId: 'c' })
    expect(envelope.metadata).toMatchObject({ changed_files: ['sub/a.txt', 'sub/b.txt'] })
    // A model has read them in the output.
    const { toModelOutput } = session.tools['bash'] as { toModelOutput: (part: object) => { value: string } }
    expect(toModelOutput({ input: { command }, output: envelope }).value).not.toContain('changed_files')
    expect((await call('bash', { command: 'true # apply_patch' })).metadata).not.toHaveProperty('changed_files')
    await session.close()
    const rows = await journal.listRun(session.id)
    expect(rows.map(({ toolName, nodeId, seq, status, acted }) => [toolName, nodeId, seq, status, acted])).toEqual([
      ['bash', 'contract', 1, 'success', true],
      ['apply_patch', 'contract/patches', 1, 'success', true],
      ['apply_patch', 'contract/patches', 2, 'error', false],
      ['bash', 'contract', 2, 'success', true],
    ])
    expect(JSON.parse(rows[1]?.inputJson ?? '')).toMatchObject({ directory: 'sub', inside: { tool: 'bash', seq: 1 } })
    // A replay gives what the model called, and byte for byte.
    const replay = await replaySession(journal, session.id)
    expect(await replay.call('bash', { command })).toEqual(envelope)
    await replay.call('bash', { command: 'true # apply_patch' })
    replay.finish()
    await journal.close()
  })

  test('a rule that denies a command of that name refuses it before, as one about sed does', async () => {
    const permissions = [...allowAll, { permission: 'bash', pattern: 'apply_patch*', action: 'deny' } as const]
    const { call, put, text } = await openScene({ manifest: { name: 'test', permissions } })
    put('a.txt', '1\n')
    for (const command of [
      `apply_patch '${patch}'`,
      `cd . && apply_patch <<'EOF'\n${patch}EOF`,
      `/dev/toolwright/apply_patch '${patch}'`,
    ]) {
      expect((await call('bash', { command })).metadata.code, command).toBe('permission_denied')
    }
    expect(text('a.txt')).toBe('1\n')
  })
})
