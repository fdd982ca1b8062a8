import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'

export default defineTool({
  description: 'Close the case of the thread',
  args: z.object({
    reason: z.enum(['answered', 'withdrawn']).describe('Why it is closed'),
  }),
  execute: async (state, { reason }) => {
    await state.storage.put('closed', { reason, at: new Date() })
    return { status: 'success', result: `Closed: ${reason}` }
  },
})
