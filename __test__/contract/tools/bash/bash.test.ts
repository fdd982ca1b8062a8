import { existsSync, mkdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../../scene.ts'

describe('bash', () => {
  test('R29 both outputs, the exit code; a failure of the command is an output', async () => {
    const { call } = await openScene()
    expect(dataOf(await call('bash', { command: 'echo out; echo err >&2; exit 3' }))).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
      signal: null,
      timed_out: false,
    })
  })

  test('R29 nothing carries over; the directory can be chosen; stdin is closed', async () => {
    const { call, root } = await openScene()
    mkdirSync(`${root}/sub`)
    await call('bash', { command: 'cd sub; export X=1' })
    expect(dataOf(await call('bash', { command: 'pwd; echo "[$X]"' })).stdout).toBe(`${root}\n[]\n`)
    expect(dataOf(await call('bash', { command: 'pwd', workdir: 'sub' })).stdout).toBe(`${root}/sub\n`)
    expect(dataOf(await call('bash', { command: 'cat; echo end' })).stdout).toBe('end\n')
    expect(failureOf(await call('bash', { command: 'pwd', workdir: 'none' })).code).toBe('not_found')
    expect(failureOf(await call('bash', { command: 'pwd', workdir: '/' })).code).toBe('capability_refused')
  })

  test('R29 the timeout ends it, with what it had printed', async () => {
    const { call } = await openScene()
    const data = dataOf(await call('bash', { command: 'echo before; sleep 60', timeout_ms: 1_500 }))
    expect(data).toMatchObject({ stdout: 'before\n', timed_out: true, exit_code: null })
  })

  test('R29 it resolves when the command ends, not when a child lets go of a pipe', async () => {
    const { call } = await openScene()
    const start = performance.now()
    expect(dataOf(await call('bash', { command: 'sleep 30 & echo done' }))).toMatchObject({ stdout: 'done\n', exit_code: 0 })
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('R29 secrets of the environment are not passed', async () => {
    process.env['MY_API_KEY'] = 'hush'
    const { call } = await openScene()
    expect(dataOf(await call('bash', { command: 'env' })).stdout).not.toContain('hush')
    delete process.env['MY_API_KEY']
  })

  test('R29 the session grants its process what whole subtrees say; the network is closed unless all of it is open', async () => {
    const { call, outside, text } = await openScene()
    expect(dataOf(await call('bash', { command: 'echo x > inside.txt' })).exit_code).toBe(0)
    expect(text('inside.txt')).toBe('x\n')
    expect(dataOf(await call('bash', { command: `echo x > '${outside}/x.txt'` })).exit_code).not.toBe(0)
    expect(existsSync(`${outside}/x.txt`)).toBe(false)
    const connect = `node -e "require('net').connect(9,'192.0.2.1').on('error',e=>console.log(e.code))"`
    expect(dataOf(await call('bash', { command: connect, timeout_ms: 8_000 })).stdout).toMatch(
      // The last is Bun's word for all of them, where it stands in for node.
      /ENETUNREACH|EPERM|EACCES|EHOSTUNREACH|ECONNREFUSED/u,
    )
  })
})
