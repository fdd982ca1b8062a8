import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** An endpoint of a provider on the loopback interface. It answers with `answers` in their order, and keeps what it was sent. */
export async function startEndpoint(answers: readonly object[]): Promise<{ url: string; bodies: any[] }> {
  const bodies: unknown[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const answer = answers[bodies.push(JSON.parse(body)) - 1]
      response.writeHead(answer === undefined ? 500 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? { error: { message: 'no answer is left', type: 'test' } }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies }
}

let responses = 0

/** An answer of OpenAI's Responses API. */
export const openaiResponse = (...output: object[]): object => ({
  id: `resp_${(responses += 1)}`,
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  model: 'scripted',
  output,
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
})

export const openaiText = (text: string): object => ({
  type: 'message',
  id: `msg_${(responses += 1)}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

/** An answer of Anthropic's Messages API. */
export const anthropicMessage = (...content: object[]): object => ({
  id: `msg_${(responses += 1)}`,
  type: 'message',
  role: 'assistant',
  model: 'scripted',
  content,
  stop_reason: content.some((part) => (part as { type: string }).type === 'tool_use') ? 'tool_use' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
})
