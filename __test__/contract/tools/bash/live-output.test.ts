import { setTimeout } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { allowAll, dataOf, failureOf, manifest, openScene, testTool } from '../../scene.ts'

test('a caller hears the output while the command runs, and all of it in order', async () => {
  const { call, put } = await openScene(manifest(allowAll))
  const heard: string[] = []
  const command = 'echo first; until [ -e go ]; do sleep 0.02; done; echo second >&2; sleep 0.1; printf é'
  const ended = call('bash', { command }, { onOutput: (text) => void heard.push(text) })
  await vi.waitFor(() => expect(heard).toEqual(['first\n']))
  put('go', '')
  expect(dataOf(await ended)).toMatchObject({ stdout: 'first\né', stderr: 'second\n', exit_code: 0 })
  expect(heard.join('')).toBe('first\nsecond\né')
})

test('the last text comes before the envelope, also of a command that fails or is stopped', async () => {
  const { call } = await openScene(manifest(allowAll))
  for (const command of ['echo out; exit 3', 'echo out; sleep 60']) {
    const heard: string[] = []
    const envelope = await call('bash', { command, timeout_ms: 1_500 }, { onOutput: (text) => void heard.push(text) })
    expect(dataOf(envelope)).toMatchObject({ stdout: 'out\n' })
    expect(heard.join('')).toBe('out\n')
  }
  const heard: string[] = []
  const stop = new AbortController()
  const onOutput = (text: string) => {
    heard.push(text)
    stop.abort()
  }
  const ended = await call('bash', { command: 'while :; do echo out; sleep 0.01; done' }, { onOutput, signal: stop.signal })
  expect(ended.metadata.code).toBe('aborted')
  const last = heard.length
  await setTimeout(250)
  expect(heard).toHaveLength(last)
})

test('a listener that throws, and one that is slow, change nothing', async () => {
  const { call } = await openScene(manifest(allowAll))
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const onOutput = () => {
    throw new Error('no')
  }
  expect(dataOf(await call('bash', { command: 'echo out' }, { onOutput }))).toMatchObject({ stdout: 'out\n' })
  expect(warned).toHaveBeenCalledWith('toolwright: onOutput failed: Error: no')
  warned.mockRestore()
  let characters = 0
  const envelope = await call('bash', { command: 'yes | head -c 20000000' }, { onOutput: (text) => void (characters += text.length) })
  expect(dataOf(envelope)).toMatchObject({ exit_code: 0 })
  expect(characters).toBeGreaterThan(0)
  expect(characters).toBeLessThan(20_000_000)
})

test('listeners whose promises fail or never settle change nothing', async () => {
  const { call, session } = await openScene(manifest(allowAll))
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const stop = session.observe({
    onOutput: () => Promise.reject(new Error('gone')) as never,
    onResult: () => Promise.reject(new Error('late')) as never,
  })
  const never = new Promise(() => undefined)
  expect(dataOf(await call('bash', { command: 'echo out' }, { onOutput: () => never as never }))).toMatchObject({ stdout: 'out\n' })
  const onOutput = async () => Promise.reject(new Error('no'))
  expect(dataOf(await call('bash', { command: 'echo out' }, { onOutput: onOutput as never }))).toMatchObject({ stdout: 'out\n' })
  await vi.waitFor(() => {
    expect(warned).toHaveBeenCalledWith('toolwright: onOutput failed: Error: no')
    for (const error of ['gone', 'late']) expect(warned).toHaveBeenCalledWith(`toolwright: an observer of calls failed: Error: ${error}`)
  })
  stop()
  warned.mockRestore()
})

test('a command that a tool leaves behind is not heard after the call', async () => {
  let left: Promise<unknown> = Promise.resolve()
  const { promise: heardFirst, resolve: hearFirst } = Promise.withResolvers<void>()
  const leaves = testTool(
    'leaves',
    async (_, runtime) => {
      left = runtime.shell.run('for i in $(seq 20); do echo $i; sleep 0.05; done').catch(() => undefined)
      await heardFirst
      return 'left'
    },
    { requires: { shell: [{ cmd: '*' }] } },
  )
  const heard: string[] = []
  const observed: string[] = []
  const { call, session } = await openScene({ ...manifest(allowAll), tools: [leaves] })
  session.observe({ onOutput: (_, text) => void observed.push(text), onResult: () => void observed.push('end') })
  const onOutput = (text: string) => {
    heard.push(text)
    hearFirst()
  }
  dataOf(await call('leaves', {}, { onOutput }))
  const { length } = heard
  expect(length).toBeGreaterThan(0)
  await left
  await setTimeout(200)
  expect(heard).toHaveLength(length)
  expect(observed.at(-1)).toBe('end')
})

test('what is no function is refused', async () => {
  const { call } = await openScene(manifest(allowAll))
  expect(failureOf(await call('bash', { command: 'true' }, { onOutput: 7 as never })).text).toContain('onOutput must be a function')
})
