import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, type SandboxOptions, ToolError } from 'toolwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { script } from '../support/scripted-model.ts'
import { closedPlace } from './stage/programs.ts'

describe.skipIf(process.platform !== 'linux')('confined,', () => {
  let outside: string
  beforeAll(() => {
    mkdirSync(closedPlace, { recursive: true })
    outside = mkdtempSync(join(closedPlace, 'toolwright-promises-'))
  })
  afterAll(() => rmSync(outside, { recursive: true, force: true }))

  const bash = (rootDir: string, sandbox: SandboxOptions = {}) => createTools({ rootDir, networkGuard: 'off', sandbox }).bash

  async function refusal(call: Promise<string>): Promise<string> {
    const error = await call.then(
      (output) => output,
      (thrown: unknown) => thrown,
    )
    if (!ToolError.isInstance(error)) throw new Error(`not refused: ${String(error)}`)
    return error.message
  }

  test('nothing that a model says, writes or sets switches a layer off', async () => {
    const { root } = makeSandbox()
    const marks: string[] = []
    const touch = (): string[] => {
      marks.push(join(outside, `mark-${marks.length}`))
      return ['-c', `echo x > ${marks.at(-1)}`]
    }
    const open = {
      sandbox: { files: 'full', required: false, denyWrite: [] },
      allowNetwork: true,
      networkGuard: 'off',
      env: 'inherit',
      rootDir: '/',
    }
    const config = JSON.stringify({ ...open, toolwright: open })
    const variables = ['TOOLWRIGHT_SANDBOX=off', 'TOOLWRIGHT_SANDBOX_FILES=full', 'TOOLWRIGHT_ALLOW_NETWORK=1', 'TOOLWRIGHT_ROOT_DIR=/']
    const turns = [
      [{ tool: 'bash', input: { cmd: 'sh', args: touch(), ...open, opts: { cwd: '.', ...open } } }],
      ['package.json', '.toolwrightrc', '.toolwright.json', 'toolwright.config.json', '.env'].map((path) => ({
        tool: 'write',
        input: { path, content: path === '.env' ? variables.join('\n') : config },
      })),
      [{ tool: 'bash', input: { cmd: 'env', args: [...variables, 'sh', ...touch()] } }],
      [{ tool: 'bash', input: { cmd: 'sh', args: touch() } }],
    ]
    const model = new MockLanguageModelV4({ doGenerate: script(...turns, 'done') })
    const tools = createTools({ rootDir: root })
    await new ToolLoopAgent({ model, tools }).generate({ prompt: 'go' })
    expect(marks.filter((mark) => existsSync(mark))).toEqual([])
    // It is the sandbox that has kept them away: the host may say so.
    await bash(root, { files: 'full' }).execute({ cmd: 'sh', args: touch() })
    expect(marks.filter((mark) => existsSync(mark))).toEqual(marks.slice(-1))
  })

  const serveAndAsk = `
    const server = require('node:http').createServer((_, answer) => answer.end('answered'))
    server.on('error', (error) => { console.error(error.code); process.exit(1) })
    server.listen(0, '127.0.0.1', () => {
      fetch('http://127.0.0.1:' + server.address().port).then((answer) => answer.text()).then((text) => { console.log(text); process.exit() })
    })`

  test("a command has a loopback interface of its own, and none with loopback: 'none'", async () => {
    const { root } = makeSandbox()
    const call = { cmd: process.execPath, args: ['-e', serveAndAsk] }
    expect(await bash(root).execute(call)).toBe('answered\n')
    const message = await refusal(bash(root, { loopback: 'none' }).execute(call))
    expect(message).not.toContain('answered')
  })

  test('what a command was refused is explained, with the option that would allow it', async () => {
    const { root } = makeSandbox()
    const lookUp = `require('node:dns').lookup('example.org', (error) => { console.error(error.code); process.exit(1) })`
    const refusalOf = (cmd: string, ...args: string[]) => refusal(bash(root).execute({ cmd, args }))
    expect(await refusalOf(process.execPath, '-e', lookUp)).toMatch(/may be the sandbox: the network is blocked; .*allowNetwork/u)
    expect(await refusalOf('sh', '-c', `echo x > ${outside}/file`)).toMatch(/may be the sandbox: .*sandbox\./u)
    mkdirSync(`${root}/.vscode`)
    expect(await refusalOf('sh', '-c', 'echo x > .vscode/tasks.json')).toMatch(/may be the sandbox: .*sandbox\.denyWrite/u)
    expect(await refusalOf('sh', '-c', 'mv .vscode old')).toMatch(/may be the sandbox: `\.vscode` is protected; .*sandbox\.denyWrite/u)
    // A failure that has nothing to do with it is left alone.
    expect(await refusalOf('sh', '-c', 'echo wrong; exit 3')).not.toContain('sandbox')
  })
})
