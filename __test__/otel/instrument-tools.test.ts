import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { OpenTelemetry } from '@ai-sdk/otel'
import { ToolLoopAgent, type ToolSet } from 'ai'
import { generateText as generateText6, type ToolSet as ToolSet6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, defineTool, openJournal } from 'toolwright'
import { instrumentTools, type InstrumentToolsOptions } from 'toolwright/otel'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { manifest, noRules, openScene, rule } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { script, type ScriptedCall } from '../support/scripted-model.ts'
import { spanOf, takeSpans, treeOf } from './recorded-spans.ts'

beforeEach(() => void takeSpans())

function instrument(options: InstrumentToolsOptions = {}): void {
  const instrumentation = instrumentTools(options)
  onTestFinished(() => instrumentation.dispose())
}

/** Has an agent make calls, with the AI SDK's own spans around them; without recording what they were given. */
async function runAgent(tools: ToolSet, ...calls: ScriptedCall[]): Promise<void> {
  const model = new MockLanguageModelV4({ modelId: 'scripted', doGenerate: script(calls, 'done') })
  const telemetry = { isEnabled: true, recordInputs: false, recordOutputs: false, integrations: [new OpenTelemetry()] }
  await new ToolLoopAgent({ model, tools, telemetry }).generate({ prompt: 'go' })
}

const command = (text: string) => ({ tool: 'bash', input: { cmd: 'sh', args: ['-c', text] } })

describe("inside a tool's span of the AI SDK", () => {
  test('a command stands below execute_tool, which has its outcome', async () => {
    instrument()
    const { root } = makeSandbox()
    await runAgent(createTools({ rootDir: root }), command('echo secret'))
    const spans = takeSpans()
    expect(treeOf(spans)).toEqual([
      'invoke_agent scripted',
      '  step 1',
      '    chat scripted',
      '    execute_tool bash',
      '      command sh',
      '  step 2',
      '    chat scripted',
    ])
    const { attributes, status } = spanOf(spans, 'execute_tool bash')
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'toolwright.door': 'toolkit',
      'toolwright.code': 'ok',
      'toolwright.acted': true,
      'toolwright.side_effect': true,
      'process.exit.code': 0,
      'toolwright.output.bytes': 7,
    })
    expect(status.code).not.toBe(SpanStatusCode.ERROR)
    expect(spanOf(spans, 'command sh').attributes).toEqual({ 'process.executable.name': 'sh', 'process.exit.code': 0 })
    // Neither what the model wrote nor what the command printed.
    expect(JSON.stringify(spans.map((span) => [span.name, span.attributes, span.events, span.status]))).not.toContain('secret')
  })

  test('a refusal of a session is an error, although its envelope is a result', async () => {
    instrument()
    const { session } = await openScene(manifest([rule('fs.write ** deny'), rule('* ** allow')]))
    await runAgent(session.tools, { tool: 'write', input: { path: 'a.txt', content: 'x' } })
    const { attributes, status } = spanOf(takeSpans(), 'execute_tool write')
    expect(attributes).toMatchObject({
      'error.type': 'permission_denied',
      'toolwright.code': 'permission_denied',
      'toolwright.acted': false,
    })
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'permission_denied' })
  })

  test('waiting for the user and a command of a session are children, one after the other', async () => {
    instrument()
    const { session } = await openScene({ ...noRules, host: { prompt: () => 'allow_once' } })
    await runAgent(session.tools, { tool: 'bash', input: { command: 'exit 3' } })
    const spans = takeSpans()
    expect(treeOf(spans).slice(3, 6)).toEqual([
      '    execute_tool bash',
      '      wait for permission',
      expect.stringMatching(/^ {6}command /u),
    ])
    expect(spanOf(spans, 'execute_tool bash').attributes).toMatchObject({ 'toolwright.code': 'ok', 'process.exit.code': 3 })
    const child = spans.find(({ name }) => name.startsWith('command '))
    expect(child?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'exit 3' })
  })

  test('parallel calls keep their own children', async () => {
    instrument()
    const { root } = makeSandbox()
    const calls = Array.from({ length: 5 }, (_, index) => ({ ...command(`exit ${index}`), id: `c${index}` }))
    await runAgent(createTools({ rootDir: root }), ...calls)
    const spans = takeSpans()
    const pairs = spans
      .filter(({ name }) => name === 'command sh')
      .map((child) => {
        const parent = spans.find((span) => span.spanContext().spanId === child.parentSpanContext?.spanId)
        return [parent?.attributes['gen_ai.tool.call.id'], parent?.attributes['process.exit.code'], child.attributes['process.exit.code']]
      })
    expect(pairs.toSorted()).toEqual([0, 1, 2, 3, 4].map((code) => [`c${code}`, code, code]))
  })

  test('a call that a tool makes has a span of its own below', async () => {
    instrument()
    const { root, put } = makeSandbox()
    put('a.txt', 'text')
    const { read } = createTools({ rootDir: root })
    const outer = defineTool({ name: 'outer', schema: z.object({}), execute: () => read.execute({ path: 'a.txt' }) })
    await runAgent({ outer }, { tool: 'outer', input: {} })
    expect(treeOf(takeSpans()).slice(3, 5)).toEqual(['    execute_tool outer', '      execute_tool read'])
  })

  test('the span ai.toolCall of AI SDK 6', async () => {
    instrument()
    const tools = createTools({ rootDir: makeSandbox().root }) as unknown as ToolSet6
    const model = new MockLanguageModelV3({ doGenerate: script([command('exit 3')]) })
    await generateText6({
      model,
      tools,
      prompt: 'go',
      experimental_telemetry: { isEnabled: true, recordInputs: false, recordOutputs: false },
    })
    const spans = takeSpans()
    expect(treeOf(spans)).toEqual(['ai.generateText', '  ai.generateText.doGenerate', '  ai.toolCall', '    command sh'])
    expect(spanOf(spans, 'ai.toolCall').attributes).toMatchObject({ 'error.type': 'TOOL_COMMAND_FAILED', 'process.exit.code': 3 })
  })

  test('a command whose output is streamed', async () => {
    instrument()
    const { root } = makeSandbox()
    await runAgent(createTools({ rootDir: root, streamOutput: true }), command('echo a; sleep 0.2; echo b; exit 4'))
    const spans = takeSpans()
    expect(treeOf(spans).slice(3, 5)).toEqual(['    execute_tool bash', '      command sh'])
    expect(spanOf(spans, 'execute_tool bash').attributes).toMatchObject({ 'error.type': 'TOOL_COMMAND_FAILED', 'process.exit.code': 4 })
  })
})

describe('without a span around it', () => {
  test('a call gets a span of its own, with its search, its rows and the spans of its tool below', async () => {
    instrument()
    const { root, outside, put } = makeSandbox()
    put('a.txt', 'needle')
    const journal = await openJournal(`file:${outside}/runs.db`)
    onTestFinished(() => journal.close())
    await createTools({ rootDir: root, journal, runId: 'r1' }).grep.execute({ pattern: 'needle' })
    const own = defineTool({
      name: 'own',
      schema: z.object({}),
      execute: async () => {
        await Promise.resolve()
        trace.getTracer('test').startSpan('of the tool').end()
      },
    })
    await own.execute({})
    const spans = takeSpans()
    expect(treeOf(spans)).toEqual(['execute_tool grep', '  search grep', '  journal', 'execute_tool own', '  of the tool'])
    expect(spanOf(spans, 'execute_tool grep').attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'grep',
      'toolwright.run_id': 'r1',
      'toolwright.node_id': 'agent',
      'toolwright.seq': 1,
    })
  })

  test('what a call was given and returned is recorded only if asked for', async () => {
    const { root, put } = makeSandbox()
    put('a.txt', 'contents')
    const { read } = createTools({ rootDir: root })
    const shown = async (options: InstrumentToolsOptions): Promise<string> => {
      using _ = instrumentTools(options)
      await read.execute({ path: 'a.txt' })
      await read.execute({ path: 'missing.txt' }).catch(() => undefined)
      return JSON.stringify(takeSpans().map(({ attributes, events, status }) => [attributes, events, status]))
    }
    expect(await shown({})).not.toMatch(/contents|a\.txt|missing\.txt/u)
    expect(await shown({ recordInputs: true })).toMatch(/call\.arguments":"\{\\"path\\":\\"a\.txt\\"\}"/u)
    expect(await shown({ recordOutputs: true })).toMatch(/call\.result":"contents".*missing\.txt/u)
  })

  test('the tracer of the options makes the spans', async () => {
    const names: string[] = []
    const real = trace.getTracer('other')
    instrument({
      tracer: {
        ...real,
        startSpan: (name, ...rest) => (names.push(name), real.startSpan(name, ...rest)),
        startActiveSpan: real.startActiveSpan,
      },
    })
    await createTools({ rootDir: makeSandbox().root }).bash.execute({ cmd: 'true' })
    expect(names).toEqual(['execute_tool bash', 'command true'])
  })

  test('a refusal before anything was done is an error, too', async () => {
    instrument()
    await createTools({ rootDir: makeSandbox().root })
      .read.execute({ path: '../x' })
      .catch(() => undefined)
    const { attributes, status } = spanOf(takeSpans(), 'execute_tool read')
    expect(attributes).toMatchObject({ 'error.type': 'TOOL_PATH_ESCAPE', 'toolwright.acted': false })
    expect(status.code).toBe(SpanStatusCode.ERROR)
  })

  test('nothing is left after dispose, in a call that runs either', async () => {
    const { root } = makeSandbox()
    const { bash } = createTools({ rootDir: root })
    const instrumentation = instrumentTools()
    const running = bash.execute({ cmd: 'sleep', args: ['0.2'] })
    await new Promise((resolve) => setTimeout(resolve, 50))
    instrumentation.dispose()
    expect(treeOf(takeSpans())).toEqual(['execute_tool bash', '  command sleep'])
    await running
    await bash.execute({ cmd: 'true' })
    expect(takeSpans()).toEqual([])
  })
})

test('wrong options are named', () => {
  expect(() => instrumentTools({ recordInput: true } as never)).toThrow(/recordInput is no option/u)
  expect(() => instrumentTools({ tracer: {} } as never)).toThrow(/tracer must be a tracer/u)
  expect(() => instrumentTools({ api: { trace } } as never)).not.toThrow()
  expect(context.active()).toBeDefined()
})
