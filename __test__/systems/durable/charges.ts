import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { blockOf } from '../../support/code-blocks.ts'
import { anthropicMessage, startEndpoint } from '../../support/scripted-endpoint.ts'

/** What `charge.mjs` of the documentation charges at, and the model that has it charge. They live in the test. */
export interface Charges {
  /** The variables of a program of the documentation. */
  env: Record<string, string>
  /** The keys of what was charged, one for each time. */
  made: string[]
  /** What the model was asked. */
  bodies: { messages: { role: string; content: unknown }[] }[]
  /** Whether nobody hears that he was charged. */
  isSilent: boolean
  /** Settles with the next charge. */
  next(): Promise<void>
  /** Lets those hear that wait for it. */
  answer(): void
}

const call = (id: string, cents: number): object => ({ type: 'tool_use', id, name: 'charge', input: { cents } })

/** @param answers of the model: it charges once, and says so, unless others are given. */
export async function startCharges(
  answers: readonly object[] = [anthropicMessage(call('toolu_1', 500)), anthropicMessage({ type: 'text', text: 'charged it' })],
): Promise<Charges> {
  const { url: model, bodies } = await startEndpoint(answers)
  const waiting: (() => void)[] = []
  let onNext: () => void = () => undefined
  const server = createServer((request, response) => {
    const key = request.method === 'GET' ? (request.url?.slice(1) ?? '') : String(request.headers['idempotency-key'] ?? '')
    const receipt = (): unknown => response.end(JSON.stringify({ receipt: 7 }))
    if (request.method === 'GET') {
      if (!charges.made.includes(key)) response.writeHead(404)
      return receipt()
    }
    charges.made.push(key)
    if (charges.isSilent) waiting.push(receipt)
    else receipt()
    return onNext()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const charges: Charges = {
    env: {
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'none',
      PAYMENTS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    },
    made: [],
    bodies,
    isSilent: false,
    next: () => new Promise((resolve) => (onNext = resolve)),
    answer: () => {
      charges.isSilent = false
      for (const one of waiting.splice(0)) one()
    },
  }
  return charges
}

/** The tool of the documentation, of which it can be found out whether a call was made. */
export const probed = (): string => blockOf('guides/durable-engines.md', 'charge.mjs')

/** The same at a service that knows no keys: nobody can say whether a call was made whose process died. */
export const told = (): string =>
  probed()
    .replace(/^ {2}probe:[\s\S]*?^ {2}\},\n/mu, '')
    .replace(
      /^ {2}execute:[\s\S]*?^ {2}\},\n/mu,
      `  usesIdempotencyKey: false,\n  execute: async () => (await fetch(url, { method: 'POST' })).json(),\n`,
    )
