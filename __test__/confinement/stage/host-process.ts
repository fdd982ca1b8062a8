// A program that uses the tools: runs commands through them, and plainly, as it is told.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createTools, type CreateToolsOptions, openFork, ToolError } from 'toolwright'
import type { Ended, Order } from './host.ts'
import { sandboxReport } from './sandbox-options.ts'

process.on('message', (order: Order) => {
  void carryOut(order).then((answer) => process.send?.({ id: order.id, answer }))
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: process.pid })

async function carryOut(order: Order): Promise<unknown> {
  if (order.how === 'report') return sandboxReport(order.options)
  if (order.how === 'server') return runAsServer(order)
  return order.how === 'plain' ? runPlainly(order) : runConfined(order)
}

/** As a session runs a server that may write the root. */
async function runAsServer({ options, argv, cwd, killAfterMs }: Order & { how: 'server' }): Promise<Ended> {
  const { isolation: _, files: __, network: ___, writableRoots = [], ...rest } = options.sandbox ?? {}
  const [command = '', ...args] = argv
  const sandbox = { ...rest, writableRoots: [options.rootDir, ...writableRoots] }
  // It is no part of the packed package, with which the other attacks are made as well.
  const { ServerProcess } = await import('../../../dist/contract/mcp/server-process.js')
  const home = mkdtempSync(join(options.rootDir, 'server-home-'))
  const place = { roots: [options.rootDir], sandbox: {}, home: () => home }
  try {
    const server = await ServerProcess.start('attack', { command, args, cwd, sandbox }, place, new AbortController().signal)
    let output = ''
    const listening = (async () => {
      for await (const piece of server.process.output()) output += Buffer.from(piece).toString()
    })()
    const ended = await server.process.wait(killAfterMs ?? 20_000)
    const { exitCode, signal } = ended ?? (await server.process.kill())
    await listening
    return { output: `${output}${server.stderr}`, how: String(signal ?? exitCode) }
  } catch (error) {
    return { output: '', how: String(error) }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** As a program would without this package. */
async function runPlainly({ argv, cwd, killAfterMs, inheritInput }: Order & { how: 'plain' }): Promise<Ended> {
  const [program = '', ...args] = argv
  const child = spawn(program, args, { cwd, stdio: [inheritInput === true ? 'inherit' : 'ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => resolve())
  })
  const exit = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('exit', (code, signal) => resolve(signal ?? String(code)))
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs ?? 20_000)
  const how = await exit
  clearTimeout(timer)
  // Processes that are left behind hold the pipe: their output is not waited for.
  await Promise.race([closed, pause(killAfterMs === undefined ? 200 : 20)])
  return { output, how }
}

async function runConfined(order: Order & { how: 'confined' }): Promise<Ended> {
  const { options, inFork } = order
  if (inFork !== true) return runByBash(order, options)
  const fork = await openFork({ rootDir: options.rootDir, store: join(options.rootDir, '..', 'forks') })
  try {
    return await runByBash(order, { ...options, rootDir: fork })
  } finally {
    await fork.discard()
  }
}

async function runByBash({ argv, cwd, killAfterMs, by }: Order & { how: 'confined' }, options: object): Promise<Ended> {
  const [cmd = '', ...args] = argv
  const limits = by === 'timeout' && killAfterMs !== undefined ? { toolTimeoutMs: killAfterMs } : {}
  const { bash } = createTools({ networkGuard: 'off', ...limits, ...options } as CreateToolsOptions & { streamOutput?: false })
  const signal = by === 'abort' && killAfterMs !== undefined ? AbortSignal.timeout(killAfterMs) : undefined
  const call = bash.execute({ cmd, args, opts: { cwd } }, { abortSignal: signal })
  try {
    return { output: await call, how: '0' }
  } catch (error) {
    if (!ToolError.isInstance(error)) return { output: '', how: String(error) }
    const { output, exitCode, signal } = error.details
    return {
      output: typeof output === 'string' ? output : '',
      how: String(signal ?? exitCode ?? ''),
      code: error.code,
      message: error.message,
    }
  }
}
