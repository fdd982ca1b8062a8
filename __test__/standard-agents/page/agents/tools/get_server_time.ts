// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
// oxlint-disable no-unused-vars
import { defineTool } from 'toolwright/standard-agents'

export default defineTool({
  description: 'Get the current server time',
  execute: async (state) => {
    return {
      status: 'success',
      result: new Date().toISOString(),
    }
  },
})
