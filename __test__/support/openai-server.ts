import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A message in the wire format of OpenAI's chat completions, as far as the tests look at it. */
export interface WireMessage {
  role: string
  content?: string | null
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

/** What a client sent to `/v1/chat/completions`. */
export interface WireRequest {
  authorization: string | undefined
  model: string
  messages: WireMessage[]
  tools: { type: string; function: { name: string; description: string; parameters: Record<string, any> } }[]
}

/** What the server does with one request. `raw` is sent as the arguments without being JSON. */
export type WireReply =
  | { text: string }
  | { calls: { name: string; input?: object; raw?: string }[] }
  | { status: number; message: string }
  | { hangUp: true }
  | { silent: true }

export interface OpenAIServer {
  /** What `--base-url` takes. */
  url: string
  requests: WireRequest[]
  close(): Promise<void>
}

/** An OpenAI-compatible server on the loopback interface whose answers are given by `reply`. */
export async function startOpenAIServer(reply: (request: WireRequest, index: number) => WireReply): Promise<OpenAIServer> {
  const requests: WireRequest[] = []
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => sendError(response, 418, String(error)))
  })

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk
    if (incoming.method !== 'POST' || incoming.url !== '/v1/chat/completions') {
      return sendError(response, 404, `no ${incoming.method} ${incoming.url} here`)
    }
    const request = { ...JSON.parse(body), authorization: incoming.headers.authorization } as WireRequest
    const index = requests.push(request) - 1
    const what = reply(request, index)
    if ('silent' in what) return
    if ('hangUp' in what) {
      incoming.socket.destroy()
      return
    }
    if ('status' in what) return sendError(response, what.status, what.message)
    sendJson(response, 200, completion(request.model, index, what))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function completion(model: string, index: number, what: Extract<WireReply, { text: string } | { calls: unknown }>) {
  const message =
    'text' in what
      ? { role: 'assistant', content: what.text }
      : {
          role: 'assistant',
          content: null,
          tool_calls: what.calls.map(({ name, input, raw }, call) => ({
            id: `call_${index}_${call}`,
            type: 'function',
            function: { name, arguments: raw ?? JSON.stringify(input) },
          })),
        }
  return {
    id: `chatcmpl-${index}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, message, finish_reason: 'text' in what ? 'stop' : 'tool_calls' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }
}

function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: 'test', param: null, code: null } })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
