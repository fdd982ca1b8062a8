// What a tool of somebody else's goes on with when its call is over was never agreed to, and nobody records it.
import { setTimeout as sleep } from 'node:timers/promises'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failureOf, openScene, testTool } from '../scene.ts'

const requires = { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] }, shell: [{ cmd: '*' }] }

test('R3 R4 a runtime ends with its call', async () => {
  const late: Promise<unknown>[] = []
  const tool = testTool(
    'careless',
    async (_, { fs, shell }) => {
      await fs.write('before', 'x')
      const after = async (act: () => Promise<unknown>): Promise<unknown> => {
        await sleep(20)
        return act().then(
          () => 'done',
          (error: unknown) => error,
        )
      }
      late.push(
        after(() => fs.write('late', 'x')),
        after(() => fs.write('before', 'y')),
        after(() => fs.read('before')),
      )
      late.push(
        after(() => fs.grep('x')),
        after(() => shell.run('touch late')),
      )
      return 'early'
    },
    { requires, targets: () => [{ kind: 'file', path: 'before', access: 'write' }] },
  )
  const { call, at, text } = await openScene({ tools: [tool] })
  expect((await call('careless', {})).type).toBe('output')
  expect(late).toHaveLength(5)
  for (const one of await Promise.all(late)) expect(String(one)).toContain('The call of careless has ended')
  expect(existsSync(at('late'))).toBe(false)
  expect(text('before')).toBe('x')
})

test('R3 a prompt that is answered when the call is over allows nothing', async () => {
  let answer: (decision: 'allow_once') => void = () => undefined
  const asked = new Promise<'allow_once'>((resolve) => {
    answer = resolve
  })
  let late: Promise<unknown> | undefined
  const tool = testTool(
    'careless',
    async (_, { fs }) => {
      late = fs.write('late', 'x').then(
        () => 'done',
        (error: unknown) => error,
      )
      return sleep(20, 'early')
    },
    { requires },
  )
  const permissions = [
    { permission: 'careless', pattern: '', action: 'allow' as const },
    { permission: 'fs.write', pattern: '**', action: 'ask' as const },
  ]
  const { call, at } = await openScene({ tools: [tool], manifest: { name: 'test', permissions }, host: { prompt: () => asked } })
  expect((await call('careless', {})).type).toBe('output')
  answer('allow_once')
  expect(String(await late)).toContain('The call of careless has ended')
  expect(existsSync(at('late'))).toBe(false)
  expect(failureOf(await call('read', { path: 'late' })).code).not.toBe('ok')
})
