import { createTools, type ProcessReport } from 'toolwright'
import { processTools } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectTo } from '../../mcp-server/mcp-client.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, openScene } from '../scene.ts'

type Tool = 'process_start' | 'process_read' | 'process_write'
type Call = (tool: Tool, input: Record<string, unknown>) => Promise<ProcessReport>

const doors: [name: string, open: () => Promise<Call>][] = [
  [
    'createTools',
    async () => {
      const tools = createTools({ rootDir: makeSandbox().root, processes: true })
      onTestFinished(() => tools[Symbol.asyncDispose]())
      return (tool, input) => Reflect.apply(tools[tool].execute, undefined, [input]) as Promise<ProcessReport>
    },
  ],
  [
    'a session',
    async () => {
      const { call } = await openScene({ tools: processTools })
      return async (tool, input) => dataOf<ProcessReport>(await call(tool, input))
    },
  ],
  [
    'the MCP server',
    async () => {
      const names = 'process_start,process_read,process_write,process_stop'
      const { call } = await connectTo(makeSandbox().root, '2026', { args: ['--tools', names, '--allow', 'bash'] })
      return async (tool, input) => (await call(tool, input)).data as ProcessReport
    },
  ],
]

/** What moves the cursor, or begins what does. */
const moves = (text: string): string[] =>
  [...text].filter((character) => '\u001B\b'.includes(character) || /[\u0080-\u009F]/u.test(character))

describe.each(doors)('a report of a process of %s', (_, open) => {
  test('is what a person sees, and its positions are those of the bytes', { timeout: 30_000 }, async () => {
    const call = await open()
    const drawn = String.raw`\033]0;title\007\r10%%\r20%%\n\033[31mred\033[0m a\bb \033[2K\033[1Glast\n`
    const first = await call('process_start', {
      command: `printf '${drawn}'; read x; printf '\\033[1A\\033[2Knext\\n'; cat`,
      terminal: true,
    })
    expect(first.output.replaceAll('\r\n', '\n')).toBe('20%\nlast\n')
    expect(first.next).toBeGreaterThan(first.output.length + 20)
    const answered = await call('process_write', { process_id: 'p1', keys: ['enter'] })
    expect(answered.output).toContain('next')
    expect(moves(answered.output)).toEqual([])
    expect(answered.from).toBe(first.next)
    const again = await call('process_read', { process_id: 'p1', from: 0 })
    expect(moves(again.output)).toEqual([])
    expect(again.output).toContain('next')
  })

  test('has no part of a sequence, wherever it begins and ends', { timeout: 60_000 }, async () => {
    const call = await open()
    const line = String.raw`\033[38;5;196mé\033[0m\033]8;;https://example.com\033\\x\033]8;;\033\\\n`
    const { next } = await call('process_start', { command: `for n in 1 2 3 4 5 6; do printf '${line}'; done; cat`, wait_ms: 1000 })
    let text = ''
    for (let from = 0; from < next;) {
      const part = await call('process_read', { process_id: 'p1', from, max_bytes: 17 })
      text += part.output
      expect(part.next).toBeGreaterThan(from)
      from = part.next
    }
    expect(text).toBe('éx\n'.repeat(6))
    for (let from = 1; from < 60; from += 3) {
      const { output } = await call('process_read', { process_id: 'p1', from })
      expect(output, `from ${from}`).toMatch(/^é?x?\n?(?:éx\n)+$/u)
    }
  })

  test('of text that moves nothing is that text', { timeout: 30_000 }, async () => {
    const call = await open()
    const { output } = await call('process_start', { command: String.raw`printf 'a\r\n\tb  c\n\nd  '; cat`, wait_ms: 1000 })
    expect(output).toBe('a\r\n\tb  c\n\nd  ')
  })
})
