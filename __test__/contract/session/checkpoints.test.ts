import { existsSync } from 'node:fs'
import { openCheckpoints } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, openSession } from '../scene.ts'

async function scene(files: Record<string, string>) {
  const box = makeSandbox()
  for (const [path, text] of Object.entries(files)) box.put(path, text)
  const checkpoints = await openCheckpoints(box.root, { store: `${box.outside}/store` })
  const session = await openSession(box, { checkpoints })
  onTestFinished(() => checkpoints.close())
  return { box, checkpoints, session }
}

test('calls can be undone, and a bash result says what was changed', async () => {
  const { box, checkpoints, session } = await scene({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
  expect(session.checkpoints).toBe(checkpoints)
  await session.call('read', { path: 'a.txt' })
  const envelope = await session.call('bash', { command: 'echo two > a.txt; rm b.txt; mkdir d; echo c > d/c.txt' }, { callId: 'b1' })
  expect(envelope.metadata).toMatchObject({
    changed: [
      { path: 'a.txt', kind: 'modified' },
      { path: 'b.txt', kind: 'deleted' },
      { path: 'd/c.txt', kind: 'created' },
    ],
    notes: ['You have read these files, and this command changed them: a.txt. Read them again.'],
  })
  const quiet = await session.call('bash', { command: 'cat a.txt' })
  expect(dataOf(quiet)).toMatchObject({ stdout: 'two\n' })
  expect(quiet.metadata).not.toHaveProperty('changed')
  await session.call('write', { path: 'a.txt', content: 'three\n' }, { callId: 'w1' })
  await checkpoints.undo({ call: 'w1' })
  expect(box.text('a.txt')).toBe('two\n')
  await checkpoints.undo({ call: 'b1' })
  expect([box.text('a.txt'), box.text('b.txt'), existsSync(box.at('d'))]).toEqual(['one\n', 'b\n', false])
})

test('a command that ends with an error has what it changed', async () => {
  const { session } = await scene({ 'a.txt': 'one\n' })
  const envelope = await session.call('bash', { command: 'echo two > a.txt; exit 3' })
  expect(dataOf(envelope)).toMatchObject({ exit_code: 3 })
  expect(envelope.metadata).toMatchObject({ changed: [{ path: 'a.txt', kind: 'modified' }] })
})

test('each turn has a checkpoint, and can be undone', async () => {
  const { box, checkpoints, session } = await scene({ 'a.txt': 'one\n' })
  const messages = [{ role: 'user' as const, content: 'Change it.' }]
  await session.prepareStep({ messages })
  await session.call('write', { path: 'a.txt', content: 'two\n' })
  await session.prepareStep({ messages: [...messages, { role: 'assistant', content: 'Done.' }] })
  await session.call('write', { path: 'b.txt', content: 'b\n' })
  const more = [...messages, { role: 'assistant' as const, content: 'Done.' }, { role: 'user' as const, content: 'Again.' }]
  await session.prepareStep({ messages: more })
  await session.call('write', { path: 'a.txt', content: 'three\n' })
  const { checkpoints: listed } = await checkpoints.list()
  expect(listed.flatMap(({ turns }) => turns)).toEqual([`${session.id}/turn-2`, `${session.id}/turn-1`])
  await checkpoints.undo({ turn: `${session.id}/turn-2` })
  expect(box.text('a.txt')).toBe('two\n')
  await checkpoints.undo({ turn: `${session.id}/turn-1` })
  expect([box.text('a.txt'), existsSync(box.at('b.txt'))]).toEqual(['one\n', false])
})

test('a call without a checkpoint before it is not made', async () => {
  const { box, checkpoints, session } = await scene({ 'a.txt': 'one\n' })
  await checkpoints.close()
  const envelope = await session.call('write', { path: 'a.txt', content: 'two\n' })
  expect(envelope).toMatchObject({ type: 'error' })
  expect(JSON.stringify(envelope)).toContain('CHECKPOINT_CLOSED')
  expect(box.text('a.txt')).toBe('one\n')
})
