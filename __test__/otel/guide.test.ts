// The programs of docs/tracing.md, as they are printed.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { OtlpSpan } from '../../ts/otel/journal-spans.ts'
import { guideFolder, runGuide } from '../support/guide-program.ts'

const page = 'tracing.md'

test('the AI SDK, with a collector', async () => {
  const spans: OtlpSpan[] = []
  const server = createServer(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('')
    const { resourceSpans } = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const main = `
    import { provider } from './tracing.mjs'
    import { ToolLoopAgent } from 'ai'
    import { createTools } from 'toolwright'
    const agent = new ToolLoopAgent({ model: 'anthropic/claude-sonnet-4.5', tools: createTools() })
    await agent.generate({ prompt: ${JSON.stringify(JSON.stringify({ tool: 'bash', input: { cmd: 'true' } }))} })
    await provider.shutdown()`
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const ended = await runGuide(guideFolder(page, { 'main.mjs': main }), 'main.mjs', { env })
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const child = spans.find(({ name }) => name === 'command true')
  const parent = spans.find(({ spanId }) => spanId === child?.parentSpanId)
  expect(parent?.name).toBe('execute_tool bash')
  expect(spans.some(({ name }) => name.startsWith('invoke_agent'))).toBe(true)
})

test('the channel', async () => {
  const main = `
    import './log-calls.ts'
    import { createTools } from 'toolwright'
    await createTools().bash.execute({ cmd: 'sh', args: ['-c', 'echo hello; exit 3'] }, { toolCallId: 'call-1' }).catch(() => {})`
  const { code, stdout, stderr } = await runGuide(guideFolder(page, { 'main.mjs': main }), 'main.mjs')
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({
    door: 'toolkit',
    tool: 'bash',
    toolCallId: 'call-1',
    code: 'TOOL_COMMAND_FAILED',
    durationMs: expect.any(Number),
    bytes: 6,
    exitCode: 3,
  })
})
