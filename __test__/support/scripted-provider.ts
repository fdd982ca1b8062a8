import { MockLanguageModelV4 } from 'ai/test'
import { script } from './scripted-model.ts'

// Loaded before an example, it is what the example's model is asked of: the AI Gateway cannot be reached here.
const model = new MockLanguageModelV4({
  doGenerate: script(
    [{ tool: 'find_article', input: { topic: 'refunds' } }],
    [{ tool: 'answer_customer', input: { text: 'Five working days.' } }],
    'done',
  ),
})
const shared = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown }
shared.AI_SDK_DEFAULT_PROVIDER = { specificationVersion: 'v4', languageModel: () => model }
