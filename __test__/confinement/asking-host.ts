import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createTools,
  type HostDecision,
  type HostQuestion,
  sandboxReport,
  type SandboxHosts,
  type ToolError,
  type ToolOptions,
  type ToolwrightTools,
} from 'toolwright'
import { expect, onTestFinished } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const report = await sandboxReport()

/** Whether commands can have hosts by name here. */
export const isHeld =
  process.platform === 'linux' && /process namespace/u.test(report.processKill.mechanism) && report.loopback.level === 'kernel'

/** A server that answers with the name and the path it was asked for, under the names `{a,b,c}.ask.test`. */
export async function serveHosts(): Promise<{ network: SandboxHosts; visits: string[] }> {
  const visits: string[] = []
  const server = createServer(({ headers, url }, response) => {
    visits.push(`${headers.host} ${url}`)
    response.end(`${headers.host} ${url}\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const addresses = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.ask.test`, address]))
  return { network: { allow: [], ask: ['*.ask.test'], addresses }, visits }
}

/** A host program that writes down what it is asked, and answers when a test says so. */
export class AskingHost {
  readonly questions: (HostQuestion & { answer: (decision: HostDecision) => void })[] = []

  readonly onAsk = (question: HostQuestion): Promise<HostDecision> =>
    new Promise((answer) => {
      this.questions.push({ ...question, answer })
    })

  /** Waits for the question of this number, from zero. */
  async question(number = 0): Promise<AskingHost['questions'][number]> {
    await expect.poll(() => this.questions.length, { timeout: 10_000, interval: 10 }).toBeGreaterThan(number)
    return this.questions[number] as AskingHost['questions'][number]
  }

  get asked(): string[] {
    return this.questions.map(({ host, port }) => `${host}:${port}`)
  }
}

/** Runs scripts, which succeed or are refused. */
export function scriptsOf(bash: ToolwrightTools['bash']) {
  const sh = async (script: string, abortSignal?: AbortSignal): Promise<string> =>
    String(await bash.execute({ cmd: 'bash', args: ['-c', script] }, { ...(abortSignal && { abortSignal }) }))
  const refused = async (script: string): Promise<ToolError> =>
    sh(script).then(
      (output) => expect.fail(`it succeeded: ${output}`),
      (error: ToolError) => error,
    )
  return { sh, refused }
}

/** Commands in a root of their own. */
export function askingCommands(network: SandboxHosts, options: ToolOptions = {}) {
  const { root: rootDir } = makeSandbox()
  const { bash } = createTools({ rootDir, ...options, sandbox: { network } })
  return scriptsOf(bash)
}
