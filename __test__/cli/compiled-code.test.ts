import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const inBun = process.versions['bun'] !== undefined
const module = new URL('../../dist/cli/compiled-code.js', import.meta.url).href

/** Runs a program that keeps compiled code in a directory, and says which Node uses. */
function start(directory: string, env: Record<string, string> = {}): string {
  const program = `
    import * as nodeModule from 'node:module'
    import { keepCompiledCode } from ${JSON.stringify(module)}
    keepCompiledCode(${JSON.stringify(directory)})
    await import(${JSON.stringify(new URL('../../dist/core/errors.js', import.meta.url).href)})
    console.log(nodeModule.getCompileCacheDir?.() ?? 'none')
  `
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, NODE_COMPILE_CACHE: '', ...env },
  }).trim()
}

test.skipIf(inBun)('compiled code is kept in a directory of this user', () => {
  const directory = join(makeSandbox().root, 'deep', 'cache')
  expect(start(directory)).toContain(directory)
  expect(readdirSync(directory)).not.toHaveLength(0)
})

test.skipIf(inBun)('a directory in which others can write is not used', () => {
  const { root } = makeSandbox()
  const directory = join(root, 'cache')
  mkdirSync(directory)
  chmodSync(directory, 0o777)
  expect(start(directory)).toBe('none')
  expect(readdirSync(directory)).toEqual([])
})

test('where no directory can be made, the program starts without one', () => {
  const { root } = makeSandbox()
  writeFileSync(join(root, 'file'), '')
  symlinkSync('nowhere/at/all', join(root, 'dangling'))
  for (const place of ['file/cache', 'dangling', 'dangling/cache']) expect(start(join(root, place))).toBe('none')
})

test.skipIf(inBun)("the user's own choice stays", () => {
  const { root } = makeSandbox()
  const [chosen, ours] = [join(root, 'chosen'), join(root, 'ours')]
  expect(start(ours, { NODE_COMPILE_CACHE: chosen })).toContain(chosen)
  expect(existsSync(ours)).toBe(false)
  expect(start(ours, { NODE_DISABLE_COMPILE_CACHE: '1' })).toBe('none')
})
