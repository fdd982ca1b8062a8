import { tool as aiTool } from 'ai'
import * as all from 'toolwright'
import {
  bash,
  defineTool,
  edit,
  getDefinedToolMetadata,
  grep,
  read,
  runWithToolContext,
  tools,
  write,
  type DefinedToolContext,
} from 'toolwright'
import * as surface from 'toolwright/tools'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'

const key = Symbol.for('smithers.tool.metadata')
const define = (execute: (args: object, ctx: DefinedToolContext) => unknown = (_args, _ctx) => 1) =>
  defineTool({ name: 'custom', schema: z.object({}), sideEffect: true, execute })

describe('000 getDefinedToolMetadata', () => {
  test('"Read the Smithers metadata attached by defineTool."', () => {
    expect(getDefinedToolMetadata(define())).toEqual({
      name: 'custom',
      sideEffect: true,
      idempotent: false,
      acceptsIdempotencyKey: true,
      hasRevert: false,
    })
  })

  test('"Returns null for plain AI SDK tools or non-objects."', () => {
    const plain = aiTool({ inputSchema: z.object({}), execute: () => 1 })
    expect(getDefinedToolMetadata(plain)).toBeNull()
    for (const value of [null, undefined, 0, 1, '', 'read', true, 10n, Symbol('x'), {}, [], () => 1]) {
      expect(getDefinedToolMetadata(value)).toBeNull()
    }
  })

  test('"A tool (or any value). Inspected for the Symbol.for("smithers.tool.metadata") property."', () => {
    const metadata = { name: 'foreign', sideEffect: false, idempotent: true }
    expect(getDefinedToolMetadata({ [key]: metadata })).toEqual(metadata)
    expect((read as unknown as Record<symbol, unknown>)[key]).toMatchObject({ name: 'read' })
  })

  test('a copy of a tool made by spreading it keeps its metadata', () => {
    expect(getDefinedToolMetadata({ ...read, description: 'mine' })?.name).toBe('read')
  })
})

describe('000 Built-in tools', () => {
  const table: [string, boolean, boolean][] = [
    ['read', false, true],
    ['grep', false, true],
    ['write', true, false],
    ['edit', true, false],
    ['bash', true, false],
  ]
  test.each(table)('table: "%s | sideEffect %s | idempotent %s"', (name, sideEffect, idempotent) => {
    const tool = tools[name as keyof typeof tools]
    expect(getDefinedToolMetadata(tool)).toMatchObject({ name, sideEffect, idempotent })
  })

  test.each(Object.entries(tools))('%s takes an idempotency key only where it has a side effect', (_name, tool) => {
    const { sideEffect, acceptsIdempotencyKey } = getDefinedToolMetadata(tool) ?? {}
    expect(acceptsIdempotencyKey).toBe(sideEffect)
  })

  test('"Import them individually or as the tools bundle"', () => {
    expect(tools).toEqual({ read, write, edit, grep, bash })
    for (const [name, tool] of Object.entries({ read, write, edit, grep, bash })) {
      expect(tools[name as keyof typeof tools]).toBe(tool)
    }
  })

  test('"all sandboxed to ctx.rootDir (the workflow directory by default)"', async () => {
    const fixture = makeSandbox()
    fixture.put('here.txt', 'here')
    const results = await fixture.within(() =>
      Promise.all([
        read.execute({ path: 'here.txt' }),
        write.execute({ path: 'new.txt', content: 'n' }),
        grep.execute({ pattern: 'here' }),
        bash.execute({ cmd: 'pwd' }),
      ]),
    )
    expect(results).toEqual(['here', 'ok', 'here.txt:1:here\n', `${fixture.root}\n`])
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(fixture.root)
    expect(await read.execute({ path: 'here.txt' })).toBe('here')
    cwd.mockRestore()
  })
})

describe('001 exports', () => {
  test('"import { tools, read, write, edit, grep, bash, defineTool, getDefinedToolMetadata }" from the main entry', () => {
    expect(all).toMatchObject({ tools, read, write, edit, grep, bash, defineTool, getDefinedToolMetadata })
  })

  test('"tools bundles all five tools keyed by name": const { read, write, edit, grep, bash } = tools', () => {
    expect(Object.keys(tools)).toEqual(['read', 'write', 'edit', 'grep', 'bash'])
  })

  test('"readFileTool, writeFileTool, editFileTool, grepTool, bashTool: Call the underlying implementation directly"', async () => {
    const fixture = makeSandbox()
    const { readFileTool, writeFileTool, editFileTool, grepTool, bashTool } = surface
    await fixture.within(async () => {
      expect(await writeFileTool('a.txt', 'one\n')).toBe('ok')
      expect(await editFileTool('a.txt', '@@ -1 +1 @@\n-one\n+two\n')).toBe('ok')
      expect(await readFileTool('a.txt')).toBe('two\n')
      expect(await grepTool('t.o')).toBe('a.txt:1:two\n')
      expect(await grepTool('t.o', 'a.txt')).toBe('a.txt:1:two\n')
      expect(await bashTool('cat', ['a.txt'])).toBe('two\n')
      expect(await bashTool('pwd', [], { cwd: '.' })).toBe(`${fixture.root}\n`)
    })
  })

  test('"getDefinedToolMetadata(tool): Read Smithers metadata (name, sideEffect, idempotent) from a defineTool() result."', () => {
    const { name, sideEffect, idempotent } = getDefinedToolMetadata(grep) ?? {}
    expect({ name, sideEffect, idempotent }).toEqual({ name: 'grep', sideEffect: false, idempotent: true })
  })

  test('"getToolContext(), runWithToolContext(ctx, fn): Inspect or provide the task-local tool runtime context."', () => {
    expect(surface.getToolContext()).toBeUndefined()
    const context = { runId: 'r' }
    expect(runWithToolContext(context, () => surface.getToolContext())).toBe(context)
  })

  test('"getToolIdempotencyKey(ctx?), nextToolSeq(ctx): Build stable idempotency keys and task-local tool-call sequence numbers."', () => {
    const context = { runId: 'r', nodeId: 'n' }
    expect(surface.getToolIdempotencyKey(context)).toBe('smithers:r:n:0')
    expect([surface.nextToolSeq(context), surface.nextToolSeq(context)]).toEqual([1, 2])
  })

  test('"BASH_TOOL_MAX_* constants: Upper bounds for bash command length, args, cwd, output bytes, and timeout."', () => {
    expect(surface).toMatchObject({
      BASH_TOOL_MAX_COMMAND_LENGTH: 8192,
      BASH_TOOL_MAX_ARGS: 128,
      BASH_TOOL_MAX_ARG_LENGTH: 8192,
      BASH_TOOL_MAX_CWD_LENGTH: 1024,
      BASH_TOOL_MAX_OUTPUT_BYTES: 10_485_760,
      BASH_TOOL_MAX_TIMEOUT_MS: 3_600_000,
    })
  })
})
