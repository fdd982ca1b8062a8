import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTools, openJournal } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import { SpanSender } from '../../ts/otel/send-spans.ts'
import { callSpan, type OtlpSpan, runSpan } from '../../ts/otel/journal-spans.ts'
import { openScene } from '../contract/scene.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { NOON, recorded } from './recorded-calls.ts'

interface Request {
  path: string
  headers: NodeJS.Dict<string | string[]>
  spans: OtlpSpan[]
  resource: unknown
}

type Answer = [status: number, body?: string, headers?: Record<string, string>]

/** A collector that gives these answers, and success from then on. */
async function collector(...answers: Answer[]) {
  const requests: Request[] = []
  const server = createServer(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('')
    const [{ resource, scopeSpans }] = (JSON.parse(text) as { resourceSpans: [{ resource: unknown; scopeSpans: [{ spans: OtlpSpan[] }] }] })
      .resourceSpans
    requests.push({ path: request.url ?? '', headers: request.headers, spans: scopeSpans[0].spans, resource })
    const [status, body = '{}', headers = {}] = answers.shift() ?? [200]
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A journal with a command, a refusal and a call of a session that waited. */
async function writeJournal(): Promise<string> {
  const { root, outside } = makeSandbox()
  const location = `file:${outside}/runs.db`
  const journal = await openJournal(location)
  const { bash, read } = createTools({ rootDir: root, journal, runId: 'r1', nodeId: 'n1' })
  await bash.execute({ cmd: 'sh', args: ['-c', 'echo private; exit 3'] }, { toolCallId: 'c1' }).catch(() => undefined)
  await read.execute({ path: '../x' }).catch(() => undefined)
  const { call } = await openScene({ manifest: { name: 'test' }, journal, host: { prompt: () => 'allow_once' }, id: 's1' })
  await call('bash', { command: 'true' })
  await journal.close()
  return location
}

const attributesOf = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]))

const clean = { OTEL_EXPORTER_OTLP_HEADERS: undefined, OTEL_EXPORTER_OTLP_TRACES_HEADERS: undefined, OTEL_SERVICE_NAME: undefined }

test('calls --otlp sends a trace for each run, with a span for each call', async () => {
  const location = await writeJournal()
  const { requests, url } = await collector()
  const env = { ...clean, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc,x-team=a', OTEL_SERVICE_NAME: 'agents' }
  const ended = await runCli(['calls', location, '--otlp', url], { env })
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: `5 spans of 2 runs sent to ${url}/v1/traces\n` })
  expect(requests).toHaveLength(1)
  const [{ path, headers, spans, resource } = {} as Request] = requests
  expect(path).toBe('/v1/traces')
  expect(headers).toMatchObject({ authorization: 'Basic abc', 'x-team': 'a', 'content-type': 'application/json' })
  expect(resource).toEqual({ attributes: [{ key: 'service.name', value: { stringValue: 'agents' } }] })
  expect(spans.map(({ name }) => name)).toEqual(['run r1', 'execute_tool bash', 'execute_tool read', 'run s1', 'execute_tool bash'])
  const [run, command, refused, , waited] = spans as [OtlpSpan, OtlpSpan, OtlpSpan, OtlpSpan, OtlpSpan]
  for (const span of spans) {
    expect(span.traceId).toMatch(/^[0-9a-f]{32}$/u)
    expect(span.spanId).toMatch(/^[0-9a-f]{16}$/u)
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
  }
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2)
  expect([command.parentSpanId, command.traceId]).toEqual([run.spanId, run.traceId])
  expect(command.status).toEqual({ code: 2, message: 'TOOL_COMMAND_FAILED' })
  expect(attributesOf(command)).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.call.id': 'c1',
    'toolwright.run_id': 'r1',
    'toolwright.node_id': 'n1',
    'error.type': 'TOOL_COMMAND_FAILED',
    'process.exit.code': '3',
    'toolwright.acted': true,
  })
  expect(attributesOf(refused)).toMatchObject({ 'error.type': 'TOOL_PATH_ESCAPE', 'toolwright.acted': false })
  expect(attributesOf(waited)).toMatchObject({ 'toolwright.code': 'ok', 'toolwright.waited_ms': expect.stringMatching(/^\d+$/u) })
  expect(waited.status).toEqual({})
  expect(JSON.stringify(spans)).not.toContain('private')
})

test('a second export has the same ids; arguments and outputs are sent if asked for', async () => {
  const location = await writeJournal()
  const { requests, url } = await collector()
  await runCli(['calls', location, '--otlp', `${url}/otlp/v1/traces`, '--run', 'r1'], { env: clean })
  const ended = await runCli(['calls', location, '--otlp', `${url}/otlp/v1/traces`, '--run', 'r1', '--inputs', '--outputs', '--json'], {
    env: clean,
  })
  expect(JSON.parse(ended.stdout)).toEqual({ url: `${url}/otlp/v1/traces`, runs: 1, spans: 3, batches: 1, running: 0 })
  const ids = requests.map(({ spans }) => spans.map(({ traceId, spanId, parentSpanId }) => [traceId, spanId, parentSpanId]))
  expect(ids[0]).toEqual(ids[1])
  expect(requests.map(({ path }) => path)).toEqual(['/otlp/v1/traces', '/otlp/v1/traces'])
  expect(attributesOf(requests[1]!.spans[1]!)['gen_ai.tool.call.arguments']).toContain('echo private')
  expect(attributesOf(requests[1]!.spans[1]!)['gen_ai.tool.call.result']).toContain('private')
})

test('a collector that is busy is asked again, one that refuses is not', async () => {
  const location = await writeJournal()
  const busy = await collector([503], [429, 'later', { 'retry-after': '0' }])
  expect(await runCli(['calls', location, '--otlp', busy.url], { env: clean })).toMatchObject({ code: 0 })
  expect(busy.requests).toHaveLength(3)
  expect(busy.requests[0]?.spans).toEqual(busy.requests[2]?.spans)

  const closed = await collector([401, 'no \u001b[31mtoken'])
  const ended = await runCli(['calls', location, '--otlp', closed.url], { env: clean })
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toBe(`toolwright: calls: ${closed.url}/v1/traces answered 401: no \\u001b[31mtoken; 0 spans were sent before\n`)
  expect(closed.requests).toHaveLength(1)

  const partial = await collector([200, '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'])
  expect((await runCli(['calls', location, '--otlp', partial.url], { env: clean })).stderr).toContain(
    'the collector refused 2 spans: too old',
  )
  expect(partial.requests).toHaveLength(1)
})

test('a collector that is never there, and one that sends elsewhere', async () => {
  const target = { headers: {}, service: 's', version: '1' }
  const gone = new SpanSender({ ...target, url: new URL('http://127.0.0.1:9') }, 1)
  await gone.add(runSpan(run))
  await expect(gone.flush()).rejects.toThrow(/^http:\/\/127\.0\.0\.1:9 cannot be reached: .*\(after 5 attempts\)$/u)
  const other = await collector()
  const moved = await collector(...Array.from({ length: 5 }, (): Answer => [307, '', { location: other.url }]))
  const sender = new SpanSender({ ...target, headers: { authorization: 'x' }, url: new URL(moved.url) }, 1)
  await sender.add(runSpan(run))
  await expect(sender.flush()).rejects.toThrow()
  expect(other.requests).toEqual([])
})

const run = { runId: 'r1', calls: 1, started: 0, succeeded: 1, failed: 0, startedAtMs: NOON, finishedAtMs: null }
const nothing = { inputs: false, outputs: false }

test('many calls become batches of at most 500', async () => {
  const { requests, url } = await collector()
  const sender = new SpanSender({ url: new URL(url), headers: {}, service: 's', version: '1' })
  for (let row = 1; row <= 1_201; row += 1) await sender.add(callSpan(run, recorded({ row }), nothing)!)
  await sender.flush()
  expect(requests.map(({ spans }) => spans.length)).toEqual([500, 500, 201])
  expect([sender.sent, sender.batches]).toEqual([1_201, 3])
})

test('a call that has not ended is left out, and one without a known end is an error', () => {
  expect(callSpan(run, recorded({ status: 'started', finishedAtMs: null }), nothing)).toBeUndefined()
  const unknown = callSpan(run, recorded({ status: 'unknown', finishedAtMs: null, outputJson: null }), nothing)
  expect(unknown).toMatchObject({
    status: { code: 2, message: 'unknown' },
    startTimeUnixNano: `${NOON}000000`,
    endTimeUnixNano: `${NOON}000000`,
  })
  // The same call of another journal, in a run of the same name that began at another time.
  const ids = [run, { ...run, startedAtMs: NOON + 1 }].map((one) => callSpan(one, recorded(), nothing)?.spanId)
  expect(ids[0]).not.toBe(ids[1])
})

test.each([
  [['--otlp', 'collector'], /takes an address such as/u],
  [['--otlp', 'http://user:pass@host'], /takes no password/u],
  [['--otlp', 'http://localhost', '--follow'], /leave --follow out/u],
  [['--outputs'], /belong to --otlp/u],
])('%j makes no sense', async (args, why) => {
  const ended = await runCli(['calls', 'runs.db', ...args])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toMatch(why)
})

test('a run that does not exist', async () => {
  const { url, requests } = await collector()
  const ended = await runCli(['calls', await writeJournal(), '--otlp', url, '--run', 'none'], { env: clean })
  expect([ended.code, requests]).toEqual([1, []])
})
