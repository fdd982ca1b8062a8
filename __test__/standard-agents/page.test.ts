// Each example of the document runs as it is written there, in Node and in Bun.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ToolResult } from 'toolwright/standard-agents'
import { beforeAll, describe, expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'

const page = (path: string) => fileURLToPath(new URL(`page/${path}`, import.meta.url))

interface Report {
  names: string[]
  errors: unknown[]
  results: [name: string, result: ToolResult][]
  events: unknown[]
  messages: [name: string, content: string][]
  pictureText: string
}
let report: Report

beforeAll(async () => {
  const { code, stdout, stderr } = await startScript(page('run.ts'), [page('agents/tools')]).ended
  if (code !== 0) throw new Error(stderr)
  report = JSON.parse(stdout) as Report
}, 60_000)

/** What the calls of a tool gave, in their order. */
const of = (name: string) => report.results.filter(([called]) => called === name).map(([, result]) => result)
const validation = (text: string) => ({ status: 'error', error: `Tool argument validation failed: ${text}` })

describe('the examples of the document', () => {
  test('are discovered by their file names (R23)', () => {
    expect(report.errors).toEqual([])
    expect(report.names).toEqual([
      'create_ticket',
      'execute_step',
      'generate_picture',
      'generate_with_dalle',
      'get_server_time',
      'get_weather',
      'lookup_customer',
      'process_payment',
      'search_articles',
      'search_files',
      'search_knowledge_base',
      'start_workflow',
    ])
  })

  test('overview', () => {
    expect(of('search_knowledge_base')).toEqual([
      {
        status: 'success',
        result: '[{"title":"Refunds","category":"R"},{"title":"Returns","category":"R"},{"title":"Receipts","category":"R"}]',
      },
      validation('[query] Invalid input: expected string, received undefined'),
    ])
  })

  test('with arguments and a default', () => {
    expect(of('get_weather')).toEqual([
      { status: 'success', result: '{"location":"Rome","units":"celsius","degrees":21}' },
      { status: 'success', result: '{"location":"Rome","units":"fahrenheit","degrees":70}' },
      validation('[units] Invalid option: expected one of "celsius"|"fahrenheit"'),
    ])
  })

  test('without arguments', () => {
    const [{ status, result = '' } = { status: 'error' }] = of('get_server_time')
    expect(status).toBe('success')
    expect(new Date(result).toISOString()).toBe(result)
  })

  test('using ThreadState', () => {
    expect(of('lookup_customer')).toEqual([{ status: 'success', result: '{"name":"Ada"}' }])
  })

  test('with thread environment variables', () => {
    expect(of('search_files')).toEqual([{ status: 'success', result: '{"id":"vs_1","query":"q","maxResults":5}' }])
  })

  test('error handling', () => {
    expect(of('process_payment')).toEqual([
      { status: 'success', result: 'Payment processed: tx-5-EUR' },
      { status: 'error', error: 'Payment failed: limit is 1000 EUR' },
      { status: 'error', error: expect.stringMatching(/^Tool argument validation failed: \[amount\] .*; \[currency\] /u) },
    ])
  })

  test('using utilities: what it queued ran after it, in the same thread', () => {
    expect(of('start_workflow')).toEqual([{ status: 'success', result: 'Workflow initiated' }])
    expect(report.events).toEqual([{ type: 'event', eventType: 'workflow_started', data: { workflowId: 'w' } }])
    const at = report.messages.findIndex(([name]) => name === 'start_workflow')
    expect(report.messages.slice(at, at + 4).map(([, content]) => content)).toEqual([
      'Workflow initiated',
      'w: step 1',
      'w: step 2',
      'w: step 3',
    ])
  })

  test('returning file attachments', () => {
    const [{ result, attachments = [] } = {}] = of('generate_picture') as Partial<ToolResult>[]
    expect(result).toBe('Generated image for: "a cat"')
    expect(attachments).toMatchObject([{ type: 'file', mimeType: 'image/png', width: 1024, height: 1024, size: 10 }])
    expect(report.pictureText).toBe('\u0089PNG a cat')
    const [, content] = report.messages.find(([name]) => name === 'generate_picture') ?? []
    expect(content).toMatch(
      /^Generated image for: "a cat"\n\nAttachment path for "generated-\d+\.png": \/attachments\/\d+-[0-9a-f]{8}\.png$/u,
    )
  })

  test('executed by the provider', () => {
    expect(of('generate_with_dalle')).toEqual([{ status: 'error', error: expect.stringContaining('is a provider-executed tool') }])
  })

  test('complex schema', () => {
    expect(of('create_ticket')).toEqual([
      { status: 'success', result: 'Created ticket #7: It broke' },
      { status: 'error', error: expect.stringMatching(/\[title\] .*; \[priority\] /u) },
    ])
  })

  test('best practices: structured results and caught errors', () => {
    const [page, broken, wrong] = of('search_articles')
    expect(JSON.parse(page?.result ?? '')).toMatchObject({
      articles: [{ title: 'Refunds' }, { title: 'Returns' }],
      totalCount: 3,
      hasMore: true,
    })
    expect(broken).toEqual({ status: 'error', error: 'Failed to complete operation: index not available' })
    expect(wrong?.error).toMatch(/^Tool argument validation failed: \[limit\] /u)
  })

  test('only their imports are ours', () => {
    for (const name of report.names.filter((each) => each !== 'execute_step')) {
      const [first, ...lines] = readFileSync(page(`agents/tools/${name}.ts`), 'utf8').split('\n')
      expect(first).toMatch(/^\/\/ @ts-nocheck/u)
      expect(
        lines
          .filter((line) => line.startsWith('import'))
          .every((line) => /'(?:toolwright\/standard-agents|zod|\.\.\/\.\.\/services\.ts)'$/u.test(line)),
      ).toBe(true)
    }
  })
})
