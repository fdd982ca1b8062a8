import { expect, test } from 'vitest'
import { unsupportedBecause } from '../../ts/core/platform.js'

const node = (version: string) => ({ platform: 'linux', arch: 'x64', versions: { node: version } })

test.each(['22.13.0', '22.23.3', '24.0.0', '26.10.0'])('Node %s is supported', (version) => {
  expect(unsupportedBecause(node(version))).toBeUndefined()
})

test('an older Node is told what is needed and what it is, in one sentence', () => {
  expect(unsupportedBecause(node('20.20.2'))?.summary).toBe(
    'toolwright needs Node 22.13 or later, or Bun 1.4 or later; this is Node 20.20.2',
  )
  expect(unsupportedBecause(node('22.12.0'))?.summary).toContain('Node 22.12.0')
})

test('Bun is judged by its own version', () => {
  const bun = (version: string) => ({ platform: 'darwin', arch: 'arm64', versions: { node: '20.0.0', bun: version } })
  expect(unsupportedBecause(bun('1.4.4'))).toBeUndefined()
  expect(unsupportedBecause(bun('1.3.9'))?.summary).toContain('Bun 1.3.9')
})

test('a platform without an addon is named', () => {
  expect(unsupportedBecause({ platform: 'win32', arch: 'x64', versions: {} })?.summary).toContain('win32 x64')
  expect(unsupportedBecause({ platform: 'linux', arch: 'riscv64', versions: {} })?.summary).toContain('linux riscv64')
  expect(unsupportedBecause({ platform: 'linux', arch: 'x64', versions: {} })?.summary).toContain('neither')
})

test.each([
  ['Node', node('20.20.2'), /Node 24.*nodejs\.org.*nvm install 24/u],
  ['Bun', { platform: 'linux', arch: 'x64', versions: { bun: '1.3.9' } }, /bun upgrade/u],
  ['Windows', { platform: 'win32', arch: 'x64', versions: {} }, /WSL 2/u],
  ['another processor', { platform: 'linux', arch: 'riscv64', versions: {} }, /one of those/u],
])('the next move is said: %s', (_, platform, hint) => {
  expect(unsupportedBecause(platform)?.hint).toMatch(hint)
})
