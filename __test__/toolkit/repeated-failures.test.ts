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
  const [one, other] = [createTools({ rootDir: root }), createTools({ rootDir: root })]
  const told = async ({ bash }: typeof one, script: string) => {
    const failing = bash.execute({ cmd: 'sh', args: ['-c', script] }, options)
    return TOLD.test(await Promise.resolve(failing).catch((error: unknown) => (error as Error).message))
  }
  const same = 'echo same; exit 1'
  expect([await told(one, same), await told(one, same), await told(other, same), await told(one, same)]).toEqual([
    false,
    false,
    false,
    true,
  ])
  // Each time it prints one line more.
  const growing = 'echo x >> log; cat log; exit 1'
  for (let call = 0; call < 4; call += 1) expect(await told(one, growing)).toBe(false)
})
