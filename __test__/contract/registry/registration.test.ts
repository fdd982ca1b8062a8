import { Ajv } from 'ajv'
import { builtInTools, createSession, defineContractTool, lockedToolIds, type ContractTool } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { openScene, testTool } from '../scene.ts'

const complete = {
  id: 'mine',
  description: 'Mine.',
  parameters: { type: 'object' },
  requires: {},
  execute: () => 1,
} satisfies ContractTool

const open = (tools: unknown[]) =>
  createSession({ workspace: makeSandbox().root, manifest: { name: 'test' }, tools: tools as ContractTool[] })

describe('registration', () => {
  test.each(Object.keys(complete))('R1 a tool without %s is refused, by defineContractTool and by a session', async (field) => {
    const { [field as keyof typeof complete]: _, ...rest } = complete
    expect(() => defineContractTool(rest as ContractTool)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    await expect(open([rest])).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test.each<[string, object]>([
    ['an id with a space', { id: 'my tool' }],
    ['an id that every object has', { id: 'constructor' }],
    ['another such id', { id: '__proto__' }],
    ['an id of 65 letters', { id: 'a'.repeat(65) }],
    ['a blank description', { description: ' ' }],
    ['parameters that are no object schema', { parameters: { type: 'string' } }],
    ['a misspelt type', { parameters: { type: 'object', properties: { a: { type: 'strin' } } } }],
    ['required that is no list', { parameters: { type: 'object', required: 'a' } }],
    ['a pattern that is none', { parameters: { type: 'object', properties: { a: { pattern: '(' } } } }],
    ['a reference to elsewhere', { parameters: { type: 'object', properties: { a: { $ref: 'https://x.test/a' } } } }],
    ['a requirement that is not known', { requires: { files: [] } }],
    ['a path pattern that is no text', { requires: { fs: { read: [1] } } }],
    ['a program without a name', { requires: { shell: [{ cmd: '' }] } }],
    ['an argument pattern that is none', { requires: { shell: [{ cmd: 'git', args: [{ wildcard: false }] }] } }],
    ['execute that is no function', { execute: 1 }],
  ])('R1 refused: %s', async (_what, change) => {
    const tool = { ...complete, ...change } as ContractTool
    expect(() => defineContractTool(tool)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    await expect(open([tool])).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('R1 two tools of one id are refused', async () => {
    await expect(open([complete, { ...complete }])).rejects.toThrow(/Two tools have the id mine/u)
  })

  test('R1 what is changed on a tool after it was registered changes nothing', async () => {
    const tool: { -readonly [K in keyof ContractTool]: ContractTool[K] } = {
      ...complete,
      parameters: { type: 'object', required: ['n'] },
      requires: {},
    }
    const { call, session } = await openScene({ tools: [tool] })
    tool.execute = () => 'other'
    ;(tool.parameters as { required: string[] }).required.length = 0
    expect((await call('mine', {})).metadata.code).toBe('invalid_arguments')
    expect(await call('mine', { n: 1 })).toMatchObject({ data: 1 })
    expect(() => Object.assign(session.registered.at(-1) as object, { execute: 1 })).toThrow(TypeError)
  })

  test('R1 a tool may be of a class', async () => {
    class Counter {
      readonly id = 'counter'
      readonly description = 'Count.'
      readonly parameters = { type: 'object' }
      readonly requires = {}
      #count = 0
      execute() {
        return (this.#count += 1)
      }
    }
    const { call } = await openScene({ tools: [new Counter()] })
    await call('counter', {})
    expect(await call('counter', {})).toMatchObject({ data: 2 })
  })

  test('R1 all five fields are published by a session', async () => {
    const { session } = await openScene({ tools: [testTool('mine', () => 1)] })
    expect(session.registered.map(({ id }) => id)).toContain('mine')
    for (const tool of session.registered) {
      for (const field of Object.keys(complete)) expect(tool, `${tool.id} ${field}`).toHaveProperty(field)
    }
  })

  test('R7 the locked ids are these thirteen', () => {
    const ids = 'read, write, edit, glob, grep, bash, todo, task, question, web_search, web_fetch, skill, tool_search'
    expect([...lockedToolIds].sort()).toEqual(ids.split(', ').sort())
    expect(lockedToolIds).toHaveLength(13)
  })

  test.each([...lockedToolIds])('R7 nobody else may claim %s', async (id) => {
    const tool = { ...complete, id }
    expect(() => defineContractTool(tool)).toThrow(/locked/u)
    await expect(open([tool])).rejects.toThrow(/locked/u)
  })

  test('R35 task and tool_search are of the locked set: in every session and every child, never hidden, with these arguments', async () => {
    const extensions = Array.from({ length: 40 }, (_, n) => ({ ...complete, id: `extension_${n}`, extension: true }))
    const seen: string[][] = []
    const fixture = makeSandbox()
    const session = await createSession({
      workspace: fixture.root,
      manifest: { name: 'x', agents: [{ name: 'helper' }] },
      tools: extensions,
      host: { spawn: ({ session: child }) => (seen.push(Object.keys(child.tools)), 'done') },
    })
    expect((await session.call('task', { subagent_type: 'helper', prompt: 'x' })).type).toBe('output')
    seen.push(Object.keys(session.tools), (await session.prepareStep({ messages: [] })).activeTools)
    for (const ids of seen) {
      expect(ids).toEqual(expect.arrayContaining(['task', 'tool_search']))
      expect(ids.some((id) => id.startsWith('extension_'))).toBe(false)
    }
    const argumentsOf = (id: string) => {
      const { properties = {}, required } = (builtInTools.find((tool) => tool.id === id)?.parameters ?? {}) as {
        properties?: object
        required?: unknown
      }
      return { all: Object.keys(properties).sort(), required }
    }
    expect(argumentsOf('task')).toEqual({
      all: ['background', 'metadata', 'prompt', 'subagent_type'],
      required: ['subagent_type', 'prompt'],
    })
    expect(argumentsOf('tool_search')).toEqual({ all: ['query'], required: ['query'] })
    for (const id of ['task', 'tool_search']) await expect(open([{ ...complete, id }])).rejects.toThrow(/locked/u)
    await session.close()
  })

  test('R7 every built-in tool has a locked id', () => {
    for (const { id } of builtInTools) expect(lockedToolIds).toContain(id)
  })

  test.each(builtInTools.map((tool) => [tool.id, tool] as const))('R67a the parameters of %s compile as JSON Schema', (_id, tool) => {
    const ajv = new Ajv({ strict: true })
    expect(ajv.validateSchema(tool.parameters)).toBe(true)
    expect(ajv.compile(tool.parameters)({})).toBe(tool.parameters['required'] === undefined)
  })
})
