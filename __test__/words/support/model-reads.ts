import { generateText, stepCountIs, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import type { Sandbox } from '../../support/sandbox.ts'
import { script, seenBy } from '../../support/scripted-model.ts'

/** A call that a model makes. */
export interface Mistake {
  tool: string
  input: object
}

/**
 * What a model reads after one call, through the AI SDK: the text of the result, behind `✘ ` for an error. The model is
 * a mock; all else is real. What differs from run to run has a fixed name.
 */
export async function modelReads(tools: ToolSet, { tool, input }: Mistake, fixture: Sandbox): Promise<string> {
  const model = new MockLanguageModelV4({ doGenerate: script([{ tool, input }], 'done') })
  await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) })
  const [result] = seenBy(model)
  const { type = 'nothing', value } = result?.output ?? {}
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const isError = type.startsWith('error')
  return `${isError ? '✘ ' : ''}${text ?? ''}`.replaceAll(fixture.root, '/project').replaceAll(fixture.outside, '/outside')
}
