import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ContractFailure } from '../../../ts/contract/registry/envelope.ts'
import { McpServer } from '../../../ts/contract/mcp/mcp-server.ts'
import { mcpTools, McpToolIds } from '../../../ts/contract/mcp/mcp-tools.ts'
import { runs, seed } from '../../support/randomised.ts'
import { openScene } from '../scene.ts'
import { bodyOf, serve } from '../web/web-server.ts'
import { place, step, withServers } from './servers.ts'

console.log(`messages of MCP servers: TOOLWRIGHT_SEED=${seed}`)

/** An answer with another id is no answer: those cases wait as long as this. */
const TIMEOUT_MS = 250

/** How a server answers one request: the body as it is sent, or a result for the frame of the protocol. */
interface Answer {
  status: number
  type: string
  body: (id: unknown) => string | Buffer
}

const framed = (result: unknown) => (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result })

const deep = fc.integer({ min: 1, max: 60_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`)
const deepSchema = fc.integer({ min: 1, max: 3_000 }).map((depth) => `${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}`)

const name = fc.oneof(fc.constantFrom('add', '', '__proto__', 'constructor', 'toString', 'a'.repeat(300)), fc.string({ unit: 'binary' }))
const schema = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    { type: 'object' },
    { type: 'strin' },
    { $ref: '#' },
    { type: 'object', properties: { a: { $ref: '#/properties/a' } } },
    { pattern: '(' },
    { enum: 3 },
    null,
  ),
)
const listedTool = fc.record(
  {
    name: fc.oneof(name, fc.jsonValue()),
    description: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
    inputSchema: schema,
    title: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const listResult = fc.oneof(
  fc.record(
    { tools: fc.array(fc.oneof(listedTool, fc.jsonValue()), { maxLength: 5 }), nextCursor: fc.oneof(fc.string(), fc.jsonValue()) },
    { requiredKeys: ['tools'] },
  ),
  fc.jsonValue(),
)
const part = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom('text', 'image', 'audio', 'resource', 'resource_link', 'x'),
      text: fc.jsonValue(),
      data: fc.jsonValue(),
      mimeType: fc.jsonValue(),
      resource: fc.jsonValue(),
      uri: fc.jsonValue(),
      name: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  ),
  fc.jsonValue(),
)
const callResult = fc.oneof(
  fc.record(
    {
      content: fc.oneof(fc.array(part, { maxLength: 5 }), fc.jsonValue()),
      structuredContent: fc.jsonValue(),
      isError: fc.jsonValue(),
      toolResult: fc.jsonValue(),
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
)

/** Bodies that keep the frame, bodies that break it, and bytes that are no JSON at all. */
const bodyWith = (result: fc.Arbitrary<unknown>): fc.Arbitrary<Answer['body']> =>
  fc.oneof(
    { weight: 6, arbitrary: result.map(framed) },
    { weight: 1, arbitrary: deep.map((text) => (id: unknown) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`) },
    {
      weight: 1,
      arbitrary: deepSchema.map(
        (text) => (id: unknown) =>
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[{"name":"deep","inputSchema":{"type":"object","properties":{"a":${text}}}}],"content":[]}}`,
      ),
    },
    { weight: 2, arbitrary: fc.jsonValue().map((error) => (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id, error })) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.jsonValue(), result).map(
        ([other, made]) =>
          () =>
            JSON.stringify({ jsonrpc: '2.0', id: other, result: made }),
      ),
    },
    { weight: 1, arbitrary: fc.jsonValue().map((message) => () => JSON.stringify(message)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => () => Buffer.from(bytes)) },
    // The same answer twice, and one that breaks off.
    { weight: 1, arbitrary: result.map((made) => (id: unknown) => `[${framed(made)(id)},${framed(made)(id)}]`) },
    { weight: 1, arbitrary: result.map((made) => (id: unknown) => framed(made)(id).slice(0, -3)) },
  )

const answerWith = (result: fc.Arbitrary<unknown>): fc.Arbitrary<Answer> =>
  fc.record({
    status: fc.oneof(
      { weight: 8, arbitrary: fc.constant(200) },
      { weight: 1, arbitrary: fc.constantFrom(202, 204, 301, 400, 401, 404, 405, 500, 599) },
    ),
    type: fc.oneof(
      { weight: 8, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: fc.constantFrom('text/event-stream', 'text/html', '', 'application/json; charset=utf-16') },
    ),
    body: bodyWith(result),
  })

const initialized = framed({
  protocolVersion: '2025-06-18',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'random', version: '1' },
})

const known = new Set(['initialize', 'tools/list', 'tools/call'])
const noSuchMethod: Answer = {
  status: 200,
  type: 'application/json',
  body: (id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no such method' } }),
}

/** A server whose answers can be exchanged. */
async function exchangeable() {
  const now: { list: Answer; call: Answer } = {} as never
  const server = await serve(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method } = JSON.parse(await bodyOf(request))
    // Without a method it is the client's answer to a request that was made up.
    if (id === undefined || method === undefined) return void response.writeHead(202).end()
    if (!known.has(method)) return send(response, noSuchMethod, id)
    if (method === 'initialize') return void response.writeHead(200, { 'content-type': 'application/json' }).end(initialized(id))
    send(response, method === 'tools/list' ? now.list : now.call, id)
  })
  return { now, url: `${server.origin}/mcp` }
}

function send(response: ServerResponse, { status, type, body }: Answer, id: unknown): void {
  const bytes = body(id)
  response.writeHead(status, type === '' ? {} : { 'content-type': type })
  response.end(type === 'text/event-stream' ? `event: message\ndata: ${String(bytes)}\n\n` : bytes)
}

const unhandled: unknown[] = []
const collect = (reason: unknown): void => void unhandled.push(reason)

beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', collect)
})
afterEach(() => {
  process.off('unhandledRejection', collect)
})

describe('whatever a server answers', () => {
  const good: Answer = {
    status: 200,
    type: 'application/json',
    body: framed({ tools: [{ name: 'add', inputSchema: { type: 'object' } }] }),
  }

  test(
    'R61 its list comes to tools and warnings, or the server is down; nothing else happens to the host',
    async () => {
      const { now, url } = await exchangeable()
      await fc.assert(
        fc.asyncProperty(answerWith(listResult), async (list) => {
          now.list = list
          const server = new McpServer('s', { url, timeout_ms: TIMEOUT_MS }, place(), [3_600_000])
          await server.refresh(new AbortController().signal)
          const { tools, warnings } = mcpTools('s', server.tools, new McpToolIds([]))
          for (const { id, description } of tools) {
            expect(id).toMatch(/^s_[A-Za-z0-9_]{0,62}$/u)
            expect(description).not.toMatch(/[\p{Cc}\p{Cf}]/u)
          }
          expect(warnings.join('').length).toBeLessThan(100_000)
          await server.close()
        }),
        { seed, numRuns: runs(100) },
      )
      expect(unhandled).toEqual([])
    },
    120_000 * runs(1),
  )

  test(
    'R62 a call comes to a result or a failure that can be told, in time',
    async () => {
      const { now, url } = await exchangeable()
      now.list = good
      await fc.assert(
        fc.asyncProperty(answerWith(callResult), async (answer) => {
          now.call = answer
          const server = new McpServer('s', { url, timeout_ms: TIMEOUT_MS }, place(), [3_600_000])
          await server.refresh(new AbortController().signal)
          try {
            const output = await server.call('add', {}, new AbortController().signal)
            expect(JSON.parse(JSON.stringify(output))).toBeTypeOf('object')
          } catch (error) {
            expect(ContractFailure.isInstance(error), String(error)).toBe(true)
          }
          await server.close()
        }),
        { seed: seed + 1, numRuns: runs(150) },
      )
      expect(unhandled).toEqual([])
    },
    120_000 * runs(1),
  )

  test(
    'R62 the same through a session: an envelope each time, and the next call works',
    async () => {
      const { now, url } = await exchangeable()
      now.list = good
      now.call = { ...good, body: framed({ content: [] }) }
      const { session, call } = await openScene(withServers({ s: { url, timeout_ms: TIMEOUT_MS } }))
      await session.prepareStep(step)
      await fc.assert(
        fc.asyncProperty(bodyWith(callResult), async (body) => {
          now.call = { ...good, body }
          const envelope = await call('s_add', {})
          expect(['output', 'error']).toContain(envelope.type)
          expect((await call('todo', { todos: [] })).type).toBe('output')
        }),
        { seed: seed + 2, numRuns: runs(60) },
      )
      expect(unhandled).toEqual([])
    },
    120_000 * runs(1),
  )
})
