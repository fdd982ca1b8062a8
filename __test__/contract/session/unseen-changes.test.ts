/** A session knows what its model has been shown of files. */
import { openJournal } from 'toolwright'
import { applyPatchTool } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { openScene, openSession } from '../scene.ts'

describe('unseenChanges', () => {
  test('a write over a change that was not shown is refused once as stale', async () => {
    const { call, put, text } = await openScene()
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman\n')
    const write = { path: 'n.txt', content: 'two\n' }
    const refused = await call('write', write)
    expect(refused).toMatchObject({ type: 'error', metadata: { code: 'stale' } })
    expect(refused).toMatchObject({ error_text: expect.stringContaining('+human') as string })
    expect(text('n.txt')).toBe('one\nhuman\n')
    expect(await call('write', write)).toMatchObject({ type: 'output' })
  })

  test('what was never read is replaced, and told', async () => {
    const { call, put } = await openScene()
    put('n.txt', 'one\ntwo\n')
    const written = await call('write', { path: 'n.txt', content: 'x\n' })
    expect(written).toMatchObject({ data: { notes: ['(`n.txt` was replaced. It held 2 lines, 8 bytes, and had not been read.)'] } })
  })

  test('an edit is told of changes near it', async () => {
    const { call, put } = await openScene()
    put('n.txt', 'one\ntwo\nthree\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman\ntwo\nthree\n')
    const edited = await call('edit', { path: 'n.txt', old_string: 'three', new_string: '3' })
    expect(edited).toMatchObject({ data: { replacements: 1, notes: [expect.stringContaining('+human') as string] } })
    expect(await call('write', { path: 'n.txt', content: 'x\n' })).toMatchObject({ type: 'output' })
  })

  test('a file that is read in parts was read', async () => {
    const { call, put } = await openScene()
    put('n.txt', 'line\n'.repeat(100))
    for (const offset of [0, 203, 406]) await call('read', { path: 'n.txt', offset, limit: 203 })
    const written = await call('write', { path: 'n.txt', content: 'x\n' })
    expect(written).toMatchObject({ type: 'output', data: { bytes: 2 } })
    expect(written).not.toHaveProperty('data.notes')
  })

  test('a patch is refused as a whole', async () => {
    const { call, put } = await openScene({ tools: [applyPatchTool as never] })
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman\n')
    const patch = '*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch'
    expect(await call('apply_patch', { patch })).toMatchObject({ metadata: { code: 'stale' } })
    expect(await call('apply_patch', { patch })).toMatchObject({ type: 'output' })
  })

  test('two sessions do not know what the other has seen', async () => {
    const fixture = makeSandbox()
    const [one, other] = [await openSession(fixture), await openSession(fixture)]
    fixture.put('n.txt', 'one\n')
    await one.call('read', { path: 'n.txt' })
    expect(await other.call('write', { path: 'n.txt', content: 'other\n' })).toHaveProperty('data.notes')
    expect(await one.call('write', { path: 'n.txt', content: 'one\n' })).toMatchObject({ metadata: { code: 'stale' } })
  })

  test('allow compares nothing', async () => {
    const { call, put } = await openScene({ unseenChanges: 'allow' })
    put('n.txt', 'one\n')
    await call('read', { path: 'n.txt' })
    put('n.txt', 'one\nhuman\n')
    expect(await call('write', { path: 'n.txt', content: 'x\n' })).not.toHaveProperty('data.notes')
  })

  test('a session that is opened again knows what it has seen', async () => {
    const fixture = makeSandbox()
    fixture.put('same.txt', 'one\n')
    fixture.put('changed.txt', 'one\n')
    const location = fixture.at('journal.sqlite')
    for (const turn of [1, 2]) {
      const journal = await openJournal(location)
      const session = await openSession(fixture, { id: 'session', journal })
      if (turn === 1) {
        await session.call('read', { path: 'same.txt' })
        await session.call('read', { path: 'changed.txt' })
        fixture.put('changed.txt', 'two\n')
      } else {
        const write = (path: string) => session.call('write', { path, content: 'x\n' })
        expect(await write('same.txt')).not.toHaveProperty('data.notes')
        expect(await write('changed.txt')).toMatchObject({ metadata: { code: 'stale' } })
        await session.call('read', { path: 'changed.txt' })
        expect(await write('changed.txt')).toMatchObject({ type: 'output' })
      }
      await session.close()
      await journal.close()
    }
  })
})
