import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { startOpenAIServer, type OpenAIServer, type WireReply, type WireRequest } from './openai-server.ts'

/** The directory of the checkout. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url))
/** What the test's server takes as a key. */
export const KEY = 'sk-demo-test'

/** A demo that ended. */
export interface Run {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A demo that runs. */
export interface StartedDemo {
  child: ChildProcess
  ended: Promise<Run>
  /** Settles when it has printed this. */
  printed(pattern: RegExp): Promise<void>
}

/** How a test answers what the demo's model is asked. */
export type Reply = (request: WireRequest, index: number) => WireReply

/** Where one test runs the demo. */
export interface DemoStage {
  /** Its own directory for temporary files, so that a test can see what the demo leaves behind. */
  temporary: string
  /** What is left there of its working copies. */
  leftovers(): string[]
  start(args: string[], extra?: Record<string, string>): StartedDemo
  run(args: string[], extra?: Record<string, string>): Promise<Run>
  /** Starts a server that ends with the test. */
  serve(reply: Reply): Promise<OpenAIServer>
  /** A demo whose model is behind a server of the test. */
  runServed(reply: Reply, args?: string[]): Promise<Run & { ms: number; requests: WireRequest[] }>
}

/** Makes a stage that is gone when the test has finished; one of several at once names its own test. */
export function makeDemoStage(finished: typeof onTestFinished = onTestFinished): DemoStage {
  const temporary = mkdtempSync(join(tmpdir(), 'toolwright-demo-test-'))
  finished(() => rmSync(temporary, { recursive: true, force: true }))

  const start: DemoStage['start'] = (args, extra = {}) => startDemo(args, { TMPDIR: temporary, ...extra })
  const serve: DemoStage['serve'] = async (reply) => {
    const server = await startOpenAIServer(reply)
    finished(() => server.close())
    return server
  }
  return {
    temporary,
    leftovers: () => readdirSync(temporary).filter((name) => name.startsWith('toolwright-demo-')),
    start,
    run: (args, extra) => start(args, extra).ended,
    serve,
    async runServed(reply, args = []) {
      const { url, requests } = await serve(reply)
      const started = Date.now()
      const served = ['--base-url', url, '--model', 'test', '--api-key-env', 'DEMO_SERVER_ACCESS', ...args]
      const run = await start(served, { DEMO_SERVER_ACCESS: KEY }).ended
      return { ...run, ms: Date.now() - started, requests }
    },
  }
}

function startDemo(args: string[], extra: Record<string, string>): StartedDemo {
  const { AI_GATEWAY_API_KEY: _, FORCE_COLOR: __, ...rest } = process.env
  const child = spawn(process.execPath, [join(checkout, 'examples', 'demo', 'run.mjs'), ...args], {
    cwd: checkout,
    env: {
      ...rest,
      // `bun --bun` puts a `node` that is Bun first on PATH, and `node --test` is Node's.
      PATH: [join(checkout, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
      ...extra,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const run: Run = { code: null, signal: null, stdout: '', stderr: '' }
  let seen = () => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    run.stdout += text
    seen()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text))
  const ended = new Promise<Run>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ ...run, code, signal }))
  })
  const printed = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      seen = () => {
        if (pattern.test(run.stdout)) resolve()
      }
      seen()
      void ended.then(() => reject(new Error(`ended without ${pattern}:\n${run.stdout}\n${run.stderr}`)))
    })
  return { child, ended, printed }
}
