import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { configureTools, createTools, sandboxReport, ToolError, type SandboxOptions } from 'toolwright'

describe('options of the sandbox that make no sense are refused before any call', () => {
  const wrong: [string, unknown][] = [
    ['null', null],
    ['a word', 'strict'],
    ['a misspelt option', { denyWrites: ['x'] }],
    ['a misspelt limit', { limits: { process: 3 } }],
    ['an unknown word for files', { files: 'none' }],
    ['an unknown word for readScope', { readScope: 'root' }],
    ['an unknown word for loopback', { loopback: 'yes' }],
    ['an unknown word for git', { git: 'exact' }],
    ['git held strictly without its directories', { git: 'strict', denyWrite: ['@editors'] }],
    ['an unknown word for isolation', { isolation: true }],
    ['a string for a list', { readable: '/etc' }],
    ['an empty path', { denyRead: [''] }],
    ['a NUL byte', { writableRoots: ['a\0b'] }],
    ["'false' for required", { required: 'false' }],
    ['a negative limit', { limits: { memoryBytes: -1 } }],
    ['NaN', { limits: { cpuSeconds: Number.NaN } }],
    ['a fraction', { limits: { processes: 1.5 } }],
  ]
  test.each(wrong)('%s', (_, sandbox) => {
    const options = { sandbox: sandbox as SandboxOptions }
    for (const make of [() => createTools(options), () => configureTools(options)]) {
      const error = refusedBy(make)
      expect(error.code).toBe('INVALID_INPUT')
      expect(error.summary).toMatch(/^sandbox/)
    }
  })

  function refusedBy(make: () => unknown): ToolError {
    try {
      make()
    } catch (error) {
      if (ToolError.isInstance(error)) return error
      throw error
    }
    throw new Error('nothing was refused')
  }
})

test('a writable root that does not exist is named when a command is run, and nothing is run', async () => {
  const rootDir = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-options-')))
  const { bash } = createTools({ rootDir, sandbox: { writableRoots: ['missing'] } })
  const run = bash.execute({ cmd: 'touch', args: ['ran'] }, { toolCallId: 'call' })
  await expect(run).rejects.toMatchObject({ code: 'INVALID_INPUT', details: { option: 'sandbox.writableRoots' } })
  mkdirSync(join(rootDir, 'missing'))
  await expect(bash.execute({ cmd: 'true' }, { toolCallId: 'call' })).resolves.toBe('')
})

test('the report has a level, a mechanism and an advice for everything it promises, and one line for all', async () => {
  const report = await sandboxReport({ rootDir: tmpdir() })
  const { summary, ...holds } = report
  expect(Object.keys(holds).sort()).toEqual(
    ['env', 'fileMetadata', 'files', 'git', 'ipc', 'limits', 'loopback', 'network', 'processKill', 'unixSockets'].sort(),
  )
  for (const hold of Object.values(holds)) {
    expect(['kernel', 'best-effort', 'none']).toContain(hold.level)
    expect(hold.mechanism).not.toBe('')
  }
  expect(summary).toMatch(/^sandbox: [^\n]+$/)
  expect((await sandboxReport({ rootDir: tmpdir(), allowNetwork: true })).network.level).toBe('none')
  expect((await sandboxReport({ rootDir: tmpdir(), sandbox: { files: 'full' } })).files.level).toBe('none')
  expect((await sandboxReport({ rootDir: tmpdir(), env: 'inherit' })).env.level).toBe('none')
})
