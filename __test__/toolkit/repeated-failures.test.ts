import { rmSync } from 'node:fs'
import { createTools } from 'toolwright'
import { expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const options = { toolCallId: 'c', messages: [] }
const TOLD = /\nThis is the (\w+) time that this very call fails in these words: do first what they say, or make another call\.$/u

test('the third failure of the same call in the same words says so', async () => {
  const { root, at } = makeSandbox()
  const { read, write } = createTools({ rootDir: root })
  const told = async (path: string) => {
    const error: unknown = await read.execute({ path }, options).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    return TOLD.exec((error as Error).message)?.[1]
  }
  const ends = []
  for (let call = 0; call < 5; call += 1) ends.push(await told('missing.txt'))
  expect(ends).toEqual([undefined, undefined, 'third', 'fourth', 'fifth'])
  // Another call has its own count, and one that has succeeded begins anew.
  expect(await told('other.txt')).toBeUndefined()
  await write.execute({ path: 'missing.txt', content: 'x' }, options)
  expect(await read.execute({ path: 'missing.txt' }, options)).toBe('x')
  rmSync(at('missing.txt'))
  expect([await told('missing.txt'), await told('missing.txt'), await told('missing.txt')]).toEqual([undefined, undefined, 'third'])
})

test('a set of tools has its own count, and other words begin anew', async () => {
  const { root } = makeSandbox()
  const failing = (number: number) => ({ cmd: 'sh', args: ['-c', `test -e done || echo ${number} >> log; wc -l < log; exit 1`] })
  const [one, other] = [createTools({ rootDir: root }), createTools({ rootDir: root })]
  for (const { bash } of [one, one, one, other]) {
    await expect(bash.execute(failing(1), options)).rejects.toMatchObject({
      code: 'TOOL_COMMAND_FAILED',
      message: expect.not.stringMatching(TOLD),
    })
  }
})
