import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { ToolError } from 'toolwright'
import { checkProviderTools, providerExecutors } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const { tools: openai } = createOpenAI({ apiKey: 'none' })
const { tools: anthropic } = createAnthropic({ apiKey: 'none' })

function refusalOf(tools: Record<string, unknown>): ToolError {
  try {
    checkProviderTools(tools)
  } catch (error) {
    return error as ToolError
  }
  throw new Error('expected an error')
}

describe('R12: checkProviderTools', () => {
  test('gives back tools with the right keys', () => {
    const run = providerExecutors({ rootDir: makeSandbox().root, memoryDir: makeSandbox().root })
    const tools = {
      apply_patch: openai.applyPatch({}),
      shell: openai.shell({ execute: run.openai.shell }),
      local_shell: openai.localShell({ execute: run.openai.localShell }),
      bash: { ...anthropic.bash_20250124({ execute: run.anthropic.bash }), inputSchema: run.anthropic.bashInput },
      str_replace_based_edit_tool: anthropic.textEditor_20250728({ execute: run.anthropic.textEditor }),
      memory: anthropic.memory_20250818({ execute: run.anthropic.memory }),
      mine: { description: 'Mine', execute: () => 1 },
    }
    expect(checkProviderTools(tools)).toBe(tools)
  })

  test.each([
    ['patch', openai.applyPatch({}), 'apply_patch'],
    ['sh', openai.shell({}), 'shell'],
    ['localShell', openai.localShell({}), 'local_shell'],
    ['shell', anthropic.bash_20250124(), 'bash'],
    ['bash20241022', anthropic.bash_20241022(), 'bash'],
    ['textEditor', anthropic.textEditor_20250728(), 'str_replace_based_edit_tool'],
    ['str_replace_based_edit_tool', anthropic.textEditor_20250124({}), 'str_replace_editor'],
    ['notes', anthropic.memory_20250818({}), 'memory'],
  ])('refuses the key %s, and names the right one', (key, tool, expected) => {
    const error = refusalOf({ [key]: tool })
    expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { key, wanted: expected } })
    expect(error.message).toContain(`"${expected}"`)
  })

  test('refuses an executor in the place of a tool', () => {
    const run = providerExecutors({ rootDir: makeSandbox().root })
    expect(refusalOf({ shel: run.openai.shell }).message).toMatchInlineSnapshot(
      `"shel is a function, and no tool: pass it as the execute of the provider's shell tool. (checkProviderTools) [INVALID_INPUT] Correct the value and call again."`,
    )
  })
})
