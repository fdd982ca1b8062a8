/**
 * A mock of four providers on the loopback interface: OpenAI's chat completions and responses, Anthropic's messages, Gemini's
 * `generateContent`. What a model would say is a script; all else of the programs that ask it is real.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A text, or a call of the tool whose name ends in `tool`: clients put names of their own in front. */
export type ModelTurn = string | { tool: string; input: object }

export interface ScriptedModels {
  /** Without `/v1`. */
  url: string
  /** The names of tools that were offered last, as the provider gets them. */
  offered(): string[]
  /** What the model has been sent so far, as JSON, the last request last. */
  bodies: string[]
  close(): Promise<void>
}

interface Asked {
  stream?: boolean
  tools?: unknown
  [field: string]: unknown
}

/** Starts the providers. Requests without tools (titles, summaries, counts of tokens) get a text, and take no turn. */
export async function startModels(script: readonly ModelTurn[]): Promise<ScriptedModels> {
  const bodies: string[] = []
  let names: string[] = []
  let turn = 0
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const path = new URL(request.url ?? '/', 'http://x').pathname
    const speak = speakers.find(([ending]) => ending.test(path))?.[1]
    if (request.method !== 'POST' || speak === undefined) return sendJson(response, path.endsWith('/models') ? { data: [] } : {})
    const asked = JSON.parse(text === '' ? '{}' : text) as Asked
    const offered = [...toolNames(asked.tools)]
    if (path.endsWith('count_tokens') || path.endsWith(':countTokens')) return sendJson(response, { input_tokens: 1, totalTokens: 1 })
    const isOfAgent = offered.some((name) => /read(?:_file)?$/u.test(name))
    if (isOfAgent) {
      names = offered
      bodies.push(text)
    }
    const said = isOfAgent ? (script[turn] ?? 'done') : 'a title'
    if (isOfAgent) turn += 1
    const isStream = asked.stream === true || path.includes(':streamGenerateContent')
    speak(response, typeof said === 'string' ? said : { ...said, tool: nameOf(said.tool, offered) }, isStream, turn)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    offered: () => names,
    bodies,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The full name of a tool of our server: not one that the client has itself. */
function nameOf(tool: string, offered: readonly string[]): string {
  const ends = offered.filter((name) => new RegExp(`(?:^|[^a-z])${tool}$`, 'u').test(name))
  return ends.find((name) => name.includes('toolwright')) ?? ends[0] ?? tool
}

/** The names in any of the forms, with the names of namespaces in front. */
function* toolNames(tools: unknown, space = ''): Generator<string> {
  if (!Array.isArray(tools)) return
  for (const one of tools as Record<string, unknown>[]) {
    const { type, name, function: fn, functionDeclarations, tools: inner } = one
    if (type === 'namespace') yield* toolNames(inner, `${String(name)}.`)
    else if (Array.isArray(functionDeclarations)) yield* toolNames(functionDeclarations)
    else yield `${space}${String(name ?? (fn as { name?: string } | undefined)?.name)}`
  }
}

type Said = string | { tool: string; input: object }
type Speak = (response: ServerResponse, said: Said, isStream: boolean, turn: number) => void

const sendJson = (response: ServerResponse, value: object): void => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

/** Events of a stream. `named` are those whose line names their type. */
function sendEvents(response: ServerResponse, events: readonly object[], { named = false, end = '' } = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if (named) response.write(`event: ${(event as { type: string }).type}\n`)
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  response.end(end)
}

const chat: Speak = (response, said, isStream, turn) => {
  const call =
    typeof said === 'string'
      ? undefined
      : { id: `call_${turn}`, type: 'function', function: { name: said.tool, arguments: JSON.stringify(said.input) } }
  const message =
    call === undefined ? { role: 'assistant', content: said } : { role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] }
  const base = { id: `chat_${turn}`, created: 1_700_000_000, model: 'scripted' }
  const finish = call === undefined ? 'stop' : 'tool_calls'
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  if (!isStream)
    return sendJson(response, { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage })
  const chunk = (delta: object, reason: string | null) => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: reason }],
    ...(reason && { usage }),
  })
  sendEvents(response, [chunk(message, null), chunk({}, finish)], { end: 'data: [DONE]\n\n' })
}

const responses: Speak = (response, said, isStream, turn) => {
  const [space, name] =
    typeof said === 'string'
      ? []
      : said.tool.includes('.')
        ? [said.tool.slice(0, said.tool.lastIndexOf('.')), said.tool.slice(said.tool.lastIndexOf('.') + 1)]
        : [undefined, said.tool]
  const item =
    typeof said === 'string'
      ? {
          type: 'message',
          id: `msg_${turn}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: said, annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `fc_${turn}`,
          call_id: `call_${turn}`,
          status: 'completed',
          name,
          ...(space && { namespace: space }),
          arguments: JSON.stringify(said.input),
        }
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    total_tokens: 2,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const whole = {
    id: `resp_${turn}`,
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model: 'scripted',
    output: [item],
    usage,
  }
  if (!isStream) return sendJson(response, whole)
  const delta =
    typeof said === 'string'
      ? [{ type: 'response.output_text.delta', item_id: item.id, output_index: 0, content_index: 0, delta: said }]
      : [{ type: 'response.function_call_arguments.done', item_id: item.id, output_index: 0, arguments: JSON.stringify(said.input) }]
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
    ...delta,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ]
  sendEvents(
    response,
    events.map((event, index) => ({ ...event, sequence_number: index })),
    { named: true },
  )
}

const messages: Speak = (response, said, isStream, turn) => {
  const block =
    typeof said === 'string' ? { type: 'text', text: said } : { type: 'tool_use', id: `toolu_${turn}`, name: said.tool, input: said.input }
  const stop = typeof said === 'string' ? 'end_turn' : 'tool_use'
  const usage = { input_tokens: 1, output_tokens: 1 }
  const whole = {
    id: `msg_${turn}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: [block],
    stop_reason: stop,
    stop_sequence: null,
    usage,
  }
  if (!isStream) return sendJson(response, whole)
  const [empty, delta] =
    typeof said === 'string'
      ? [
          { type: 'text', text: '' },
          { type: 'text_delta', text: said },
        ]
      : [
          { ...block, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(said.input) },
        ]
  const events = [
    { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: empty },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  sendEvents(response, events, { named: true })
}

const gemini: Speak = (response, said, isStream) => {
  const part = typeof said === 'string' ? { text: said } : { functionCall: { name: said.tool, args: said.input } }
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  const whole = {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata,
    modelVersion: 'scripted',
  }
  if (isStream) sendEvents(response, [whole])
  else sendJson(response, whole)
}

const speakers: readonly (readonly [RegExp, Speak])[] = [
  [/\/chat\/completions$/u, chat],
  [/\/responses$/u, responses],
  [/\/messages(?:\/count_tokens)?$/u, messages],
  [/:(?:streamG|g)enerateContent$|:countTokens$/u, gemini],
]
