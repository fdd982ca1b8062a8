// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'

export default defineTool({
  description: 'Generate images using DALL-E',
  args: z.object({
    prompt: z.string().describe('Image description'),
  }),
  execute: async () => {
    // This won't be called - the provider handles execution
    return { status: 'success', result: 'Handled by provider' }
  },
  executionMode: 'provider',
  executionProvider: 'openai',
})
