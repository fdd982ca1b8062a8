import { asSchema, type FlexibleSchema } from 'ai'
import * as main from 'toolwright'
import * as surface from 'toolwright/tools'
import { describe, expect, test } from 'vitest'

const metadata = Symbol.for('smithers.tool.metadata')

const names = `
  read write edit grep bash tools
  readFileTool writeFileTool editFileTool grepTool bashTool
  defineTool getDefinedToolMetadata
  getToolContext runWithToolContext getToolIdempotencyKey nextToolSeq
  BASH_TOOL_MAX_ARGS BASH_TOOL_MAX_ARG_LENGTH BASH_TOOL_MAX_COMMAND_LENGTH
  BASH_TOOL_MAX_CWD_LENGTH BASH_TOOL_MAX_OUTPUT_BYTES BASH_TOOL_MAX_TIMEOUT_MS
`
  .trim()
  .split(/\s+/u)

/** The input's schema of a tool as the AI SDK sends it. */
const sent = (tool: { inputSchema: unknown }) => asSchema(tool.inputSchema as FlexibleSchema).jsonSchema

const [fromMain, fromSurface]: Record<string, unknown>[] = [{ ...main }, { ...surface }]

describe('exports', () => {
  test('toolwright/tools exports the names of smithers-orchestrator/tools and nothing else', () => {
    expect(Object.keys(surface).sort()).toEqual(names.toSorted())
  })

  test('toolwright exports the same objects, and what configures them', () => {
    const own = Object.keys(main).filter((name) => !names.includes(name))
    expect(own.sort()).toEqual([
      'ToolError',
      'applyPatch',
      'apply_patch',
      'approvals',
      'collectForks',
      'configureTools',
      'createTools',
      'detachProcess',
      'detachedProcesses',
      'endDetachedProcesses',
      'listForks',
      'needsApproval',
      'openCheckpoints',
      'openFork',
      'openJournal',
      'replayRun',
      'resumeProcesses',
      'revertRun',
      'runTask',
      'sandboxReport',
      'toolErrorCodes',
      'undoFork',
    ])
    for (const name of names) {
      expect(fromMain?.[name], name).toBe(fromSurface?.[name])
    }
  })

  test.each([
    ['BASH_TOOL_MAX_ARGS', 128],
    ['BASH_TOOL_MAX_ARG_LENGTH', 8192],
    ['BASH_TOOL_MAX_COMMAND_LENGTH', 8192],
    ['BASH_TOOL_MAX_CWD_LENGTH', 1024],
    ['BASH_TOOL_MAX_OUTPUT_BYTES', 10_485_760],
    ['BASH_TOOL_MAX_TIMEOUT_MS', 3_600_000],
  ])('%s is %i', (name, value) => {
    expect(fromSurface?.[name]).toBe(value)
  })

  test('"tools key order read, write, edit, grep, bash", that of createTools too, which adds glob', () => {
    const order = ['read', 'write', 'edit', 'grep', 'bash']
    expect(Object.keys(surface.tools)).toEqual(order)
    expect(Object.keys(main.createTools())).toEqual([...order, 'glob'])
  })
})

describe('"Tool object own keys: description, inputSchema, execute (+ symbol key)"', () => {
  test.each(Object.entries(surface.tools))('%s', (_name, tool) => {
    expect(Object.keys(tool)).toEqual(['description', 'inputSchema', 'outputSchema', 'execute', 'metadata'])
    expect(Object.getOwnPropertySymbols(tool)).toEqual([metadata])
  })

  test.each([
    ['read', 'Read a file'],
    ['write', 'Write a file'],
    ['edit', 'Apply a unified diff patch to a file'],
    ['grep', 'Search for a pattern in files'],
    ['bash', 'Run an executable with arguments'],
  ] as const)('the description of %s is "%s"', (name, description) => {
    expect(surface.tools[name].description).toBe(description)
  })
})

describe('schemas, as the AI SDK sends them', () => {
  const string = { type: 'string' }
  const object = (properties: object, required?: string[]) => ({
    type: 'object',
    properties,
    ...(required === undefined ? {} : { required }),
    additionalProperties: false,
  })

  /** A schema without what is told about its parts. */
  const bare = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(bare)
    if (typeof schema !== 'object' || schema === null) return schema
    const fields = Object.entries(schema).filter(
      ([key, value]) => key !== '$schema' && !(key === 'description' && typeof value === 'string'),
    )
    return Object.fromEntries(fields.map(([key, value]) => [key, bare(value)]))
  }

  test.each([
    ['read', object({ path: string }, ['path'])],
    ['write', object({ path: string, content: string }, ['path', 'content'])],
    ['edit', object({ path: string, patch: string }, ['path', 'patch'])],
    ['grep', object({ pattern: string, path: string }, ['pattern'])],
    ['bash', object({ cmd: string, args: { type: 'array', items: string }, opts: object({ cwd: string }) }, ['cmd'])],
  ] as const)('%s', async (name, expected) => {
    expect(bare(await sent(surface.tools[name]))).toEqual(expected)
  })

  test('each parameter tells the model what it is', async () => {
    for (const tool of Object.values(surface.tools)) {
      const { properties = {} } = await sent(tool)
      for (const [name, property] of Object.entries(properties)) {
        if (name !== 'opts') expect(property, name).toHaveProperty('description')
      }
    }
  })
})

describe('direct calls', () => {
  test('"Direct .execute() does no zod validation": what is wrong is a typed error of the tool itself', async () => {
    const wrong = surface.read.execute({ path: 5 } as never)
    await expect(wrong).rejects.toMatchObject({ name: 'ToolError', code: 'TOOL_PATH_INVALID' })
  })
})
