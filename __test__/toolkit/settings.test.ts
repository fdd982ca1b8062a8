import { mkdirSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { configureTools, runWithToolContext, type ToolContext, type ToolOptions } from 'toolwright'
import { configureTools as configureSource, type LimitedKind, resolveSettings, type Settings } from '../../ts/toolkit/settings.js'

/** Two values of each option that differ from each other and from the default. */
const options: { [K in keyof Required<Omit<ToolOptions, 'limits'>>]: [keyof Settings, ToolOptions[K], ToolOptions[K], ToolOptions[K]] } = {
  rootDir: ['rootDir', '/one', '/two', '/three'],
  allowNetwork: ['allowNetwork', true, false, true],
  maxOutputBytes: ['maxOutputBytes', 1, 2, 3],
  toolTimeoutMs: ['timeoutMs', 1, 2, 3],
  networkGuard: ['networkGuard', 'off', 'commands', 'fragments'],
  env: ['env', 'inherit', { allow: ['A'] }, { allow: ['B'] }],
  mask: ['mask', false, 'tokens', { tokens: true }],
  sandbox: ['sandbox', { files: 'full' }, { loopback: 'none' }, { required: true }],
  durability: ['durability', 'fsync', 'process', 'fsync'],
  allowInPlace: ['allowInPlace', true, false, true],
}
const inContext: Partial<Record<keyof ToolOptions, keyof ToolContext>> = {
  rootDir: 'rootDir',
  allowNetwork: 'allowNetwork',
  maxOutputBytes: 'maxOutputBytes',
  toolTimeoutMs: 'timeoutMs',
}

afterEach(() => configureSource({}))

describe('Options: context > createTools > configureTools > defaults, for each option on its own', () => {
  test.each(Object.entries(options))('%s', (name, [field, one, two, three]) => {
    configureSource({ [name]: one })
    expect(resolveSettings(undefined, {})[field]).toEqual(one)
    expect(resolveSettings(undefined, { [name]: two })[field]).toEqual(two)
    expect(resolveSettings(undefined, { [name]: undefined })[field]).toEqual(one)
    const contextField = inContext[name as keyof ToolOptions]
    if (contextField === undefined) return
    expect(resolveSettings({ [contextField]: three }, { [name]: two })[field]).toEqual(three)
    expect(resolveSettings({ [contextField]: undefined }, { [name]: two })[field]).toEqual(two)
  })

  test('limits by kind go before the limit of all, and the nearer option before both', () => {
    const limitOf = (kind: LimitedKind, bound: ToolOptions = {}): number => resolveSettings(undefined, bound, kind).maxOutputBytes
    configureSource({ maxOutputBytes: 10, limits: { read: 20, image: 7 } })
    expect([limitOf('read'), limitOf('grep')]).toEqual([20, 10])
    expect([
      limitOf('read', { maxOutputBytes: 30 }),
      limitOf('read', { limits: { read: 40 } }),
      limitOf('grep', { limits: { read: 40 } }),
    ]).toEqual([30, 40, 10])
    expect(resolveSettings({ maxOutputBytes: 5 }, { limits: { read: 40 } }, 'read').maxOutputBytes).toBe(5)
    expect(resolveSettings(undefined, {}).imageBytes).toBe(7)
    for (const limits of [{ read: 0 }, { bash: 10_485_761 }, { grep: Number.NaN }, { image: -1 }, { edit: 5 }, 5]) {
      expect(() => configureTools({ limits } as ToolOptions)).toThrow(/limits/u)
    }
  })

  test('the defaults of 001', () => {
    expect(resolveSettings(undefined, {})).toMatchObject({
      rootDir: process.cwd(),
      allowNetwork: false,
      maxOutputBytes: 200_000,
      timeoutMs: 60_000,
      networkGuard: 'auto',
      env: {},
      sandbox: {},
      durability: 'process',
      allowInPlace: false,
    })
  })

  test('the object given to configureTools can be changed afterwards without effect', () => {
    const given: ToolOptions = { maxOutputBytes: 5 }
    configureSource(given)
    given.maxOutputBytes = 6
    expect(resolveSettings(undefined, {}).maxOutputBytes).toBe(5)
  })

  test('nor can what its objects hold, whatever kind of objects they are', () => {
    const denyRead = ['a']
    const set = { A: '1' }
    // As a framework hands its state over: what is no plain object cannot be cloned.
    configureSource({ env: new Proxy({ allow: ['X'], set }, {}), sandbox: new Proxy({ denyRead, limits: { processes: 5 } }, {}) })
    denyRead.push('b')
    set.A = '2'
    expect(resolveSettings(undefined, {})).toMatchObject({
      env: { allow: ['X'], set: { A: '1' } },
      sandbox: { denyRead: ['a'], limits: { processes: 5 } },
    })
  })

  test('a relative rootDir is resolved against the working directory of the call', () => {
    mkdirSync('node_modules/.cache', { recursive: true })
    expect(resolveSettings({ rootDir: 'a/b' }, {}).rootDir).toBe(`${process.cwd()}/a/b`)
  })

  test('the package is configured through the same function', () => {
    expect(() => configureTools({ durability: 'maybe' as never })).toThrow(/durability/u)
    expect(runWithToolContext({}, () => 1)).toBe(1)
  })
})
