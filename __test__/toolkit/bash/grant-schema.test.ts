// docs/tools.md, "Grants for one command": the argument that a model sees
import { asSchema } from 'ai'
import { createTools, tools } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

const propertiesOf = async (tool: { inputSchema: unknown }): Promise<Record<string, unknown>> => {
  const { properties } = await asSchema(tool.inputSchema as never).jsonSchema
  return properties as Record<string, unknown>
}

describe('the argument grant', () => {
  test('is there only with onGrant', async () => {
    const { root: rootDir } = makeSandbox()
    expect(Object.keys(await propertiesOf(tools.bash))).toEqual(['cmd', 'args', 'opts'])
    expect(Object.keys(await propertiesOf(createTools({ rootDir }).bash))).toEqual(['cmd', 'args', 'opts'])
    for (const streamOutput of [true, false]) {
      const { bash } = createTools({ rootDir, streamOutput: streamOutput as true, onGrant: () => 'reject_once' })
      expect((await propertiesOf(bash))['grant']).toMatchSnapshot()
    }
  })

  test('is an error without onGrant', async () => {
    const { root: rootDir } = makeSandbox()
    const call = createTools({ rootDir }).bash.execute({ cmd: 'true', grant: { writable: '/' } })
    await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('onGrant must be a function', () => {
    expect(() => createTools({ onGrant: 'yes' as never })).toThrow(/onGrant must be a function/u)
  })
})
