// Endpoints on this machine that answer as the providers do, with the calls of a script: the examples run without a key.
import { once } from 'node:events'
import { createServer } from 'node:http'

/** Answers the requests with `answers`, in their order. */
async function startEndpoint(answers) {
  let next = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answers[next++] ?? answers.at(-1)))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A program that is done need not close it.
  server.unref()
  return `http://127.0.0.1:${server.address().port}/v1`
}

/** The base URL of an endpoint of OpenAI's Responses API whose model makes these calls, one a turn. */
export function scriptedOpenAI(calls, text) {
  const message = {
    type: 'message',
    id: 'msg',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
  const items = [...calls.map((call, index) => ({ id: `item_${index}`, call_id: `call_${index}`, status: 'completed', ...call })), message]
  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  return startEndpoint(
    items.map((item, index) => ({
      id: `resp_${index}`,
      object: 'response',
      created_at: 0,
      status: 'completed',
      model: 'scripted',
      output: [item],
      usage,
    })),
  )
}

/** The base URL of an endpoint of Anthropic's Messages API whose model makes these calls, one a turn. */
export function scriptedAnthropic(calls, text) {
  const parts = [...calls.map(([name, input], index) => ({ type: 'tool_use', id: `toolu_${index}`, name, input })), { type: 'text', text }]
  const usage = { input_tokens: 0, output_tokens: 0 }
  return startEndpoint(
    parts.map((part, index) => ({
      id: `msg_${index}`,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: [part],
      stop_reason: part.type === 'text' ? 'end_turn' : 'tool_use',
      stop_sequence: null,
      usage,
    })),
  )
}
