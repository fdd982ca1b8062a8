import { existsSync } from 'node:fs'
import { openJournal } from 'toolwright'
import { applyPatchTool } from 'toolwright/contract'
import { recordingRuntime } from 'toolwright/contract/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, manifest, openScene, openSession, rule } from '../scene.ts'

const envelope = (...sections: string[]): string => `*** Begin Patch\n${sections.join('\n')}\n*** End Patch\n`
const update = (path: string, old: string, next: string): string[] => [`*** Update File: ${path}`, '@@', `-${old}`, `+${next}`]
const tools = [applyPatchTool]

describe('apply_patch', () => {
  test('R69 is an extension: a session has it if its host passes it on', async () => {
    const { session } = await openScene()
    expect(Object.keys(session.tools)).not.toContain('apply_patch')
    const extended = await openScene({ tools })
    expect(Object.keys(extended.session.tools)).toContain('apply_patch')
    expect(Object.keys(extended.session.tools)).toHaveLength(Object.keys(session.tools).length + 1)
  })

  test('R69 changes all files and gives them in its envelope', async () => {
    const { call, put, text, at } = await openScene({ tools })
    put('a.txt', 'a\n')
    put('b.txt', 'b\n')
    put('c.txt', 'c\n')
    const patch = envelope(
      '*** Add File: new/x.txt',
      '+x',
      ...update('a.txt', 'a', 'A'),
      '*** Update File: b.txt',
      '*** Move to: moved/b.txt',
      '*** Delete File: c.txt',
    )
    const answer = await call('apply_patch', { patch })
    expect(dataOf(answer)).toEqual({
      files: [
        { path: 'new/x.txt', change: 'add' },
        { path: 'a.txt', change: 'update' },
        { path: 'b.txt', change: 'move', moved_to: 'moved/b.txt' },
        { path: 'c.txt', change: 'delete' },
      ],
    })
    expect([text('new/x.txt'), text('a.txt'), text('moved/b.txt')]).toEqual(['x\n', 'A\n', 'b\n'])
    expect(existsSync(at('b.txt')) || existsSync(at('c.txt'))).toBe(false)
  })

  test('errors name what happened, and nothing is changed', async () => {
    const { call, put, text, at } = await openScene({ tools })
    put('a.txt', 'a\n')
    const failed = async (...sections: string[]) =>
      failureOf(await call('apply_patch', { patch: envelope('*** Add File: first', '+x', ...sections) }))
    expect(await failed(...update('a.txt', 'none', 'x'))).toMatchObject({ code: 'tool_failed', text: expect.stringContaining('a.txt') })
    expect((await failed(...update('none.txt', 'none', 'x'))).code).toBe('not_found')
    const created = '--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n'
    expect(failureOf(await call('apply_patch', { patch: created })).code).toBe('conflict')
    expect((await failed('*** Add File: ../x', '+x')).code).toBe('capability_refused')
    expect((await failed('*** Update File: a.txt', '*** Move to: /etc/x')).code).toBe('capability_refused')
    expect((await failed('*** Add File: .git/hooks/x', '+x')).code).toBe('sandbox_refused')
    expect(failureOf(await call('apply_patch', { patch: 'nothing' })).code).toBe('tool_failed')
    expect(failureOf(await call('apply_patch', {})).code).toBe('invalid_arguments')
    expect(text('a.txt')).toBe('a\n')
    expect(existsSync(at('first'))).toBe(false)
  })

  test('an envelope replaces the files that are in its way', async () => {
    const { call, put, text, at } = await openScene({ tools })
    put('a.txt', 'a\n')
    put('b.txt', 'b\n')
    put('c.txt', 'c\n')
    dataOf(await call('apply_patch', { patch: envelope('*** Add File: a.txt', '+A', '*** Update File: b.txt', '*** Move to: c.txt') }))
    expect([text('a.txt'), text('c.txt'), existsSync(at('b.txt'))]).toEqual(['A\n', 'b\n', false])
  })

  test('R69 rules judge every path as for edit and write', async () => {
    const { call, put, text, at } = await openScene({ tools, ...manifest([...allowAll, rule('fs.write locked/** deny')]) })
    put('a.txt', 'a\n')
    put('locked/b.txt', 'b\n')
    for (const section of [
      update('locked/b.txt', 'b', 'x'),
      ['*** Delete File: locked/b.txt'],
      ['*** Add File: locked/new', '+x'],
      ['*** Update File: a.txt', '*** Move to: locked/a.txt'],
    ]) {
      const answer = await call('apply_patch', { patch: envelope('*** Add File: first', '+x', ...section) })
      expect(failureOf(answer).code).toBe('permission_denied')
    }
    expect([text('a.txt'), text('locked/b.txt')]).toEqual(['a\n', 'b\n'])
    expect(existsSync(at('first'))).toBe(false)
  })

  test('a journal has the files, and nothing of their contents or of the patch', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { call, put, session } = await openScene({ tools, journal })
    put('a.txt', 'confidential\n')
    await call('apply_patch', { patch: envelope(...update('a.txt', 'confidential', 'secret')) })
    await call('apply_patch', { patch: envelope(...update('a.txt', 'classified', 'hidden')) })
    const rows = await journal.listRun(session.id)
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['apply_patch', 'success'],
      ['apply_patch', 'error'],
    ])
    for (const { inputJson } of rows) {
      expect(JSON.parse(inputJson ?? '')).toEqual({
        patch_bytes: expect.any(Number),
        patch_sha256: expect.any(String),
        files: [{ path: 'a.txt', change: 'update' }],
      })
    }
    expect(JSON.stringify(rows)).not.toMatch(/confidential|secret|classified|hidden/u)
  })

  test('a call can be judged without being made', async () => {
    const { session, put, text } = await openScene({ tools, ...manifest([...allowAll, rule('fs.write locked/** deny')]) })
    put('a.txt', 'a\n')
    const judged = async (...sections: string[]) => (await session.judge('apply_patch', { patch: envelope(...sections) })).action
    expect(await judged(...update('a.txt', 'a', 'b'))).toBe('allow')
    expect(await judged(...update('a.txt', 'a', 'b'), '*** Add File: locked/x', '+x')).toBe('deny')
    expect(text('a.txt')).toBe('a\n')
  })

  test('the recording runtime writes it down, and a direct call needs a runtime', async () => {
    const { runtime, uses } = recordingRuntime()
    const patch = envelope('*** Add File: x', '+x')
    expect(await applyPatchTool.execute({ patch }, runtime)).toEqual({ files: [{ path: 'x', change: 'add' }] })
    expect(uses).toEqual([{ operation: 'fs.applyPatch', args: [patch] }])
    await expect(async () => applyPatchTool.execute({ patch }, {} as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('files of directories that were granted separately are refused together, with the next move', async () => {
    const other = makeSandbox()
    other.put('b.txt', 'b\n')
    const fixture = makeSandbox()
    fixture.put('a.txt', 'a\n')
    const session = await openSession(fixture, { tools, workspace: [fixture.root, other.root] })
    const patch = envelope(...update('a.txt', 'a', 'A'), ...update(other.at('b.txt'), 'b', 'B'))
    const failure = failureOf(await session.call('apply_patch', { patch }))
    expect(failure.code).toBe('invalid_arguments')
    expect(failure.text).toContain('No file was changed. Make one patch for the files of each directory.')
    expect([fixture.text('a.txt'), other.text('b.txt')]).toEqual(['a\n', 'b\n'])
    for (const part of [envelope(...update('a.txt', 'a', 'A')), envelope(...update(other.at('b.txt'), 'b', 'B'))]) {
      dataOf(await session.call('apply_patch', { patch: part }))
    }
    expect([fixture.text('a.txt'), other.text('b.txt')]).toEqual(['A\n', 'B\n'])
  })
})
