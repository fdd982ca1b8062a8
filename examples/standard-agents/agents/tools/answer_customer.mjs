import { defineTool, emitThreadEvent, queueTool } from 'toolwright/standard-agents'
import { z } from 'zod'

export default defineTool({
  description: 'Send an answer to the customer. Their case is closed afterwards.',
  args: z.object({
    text: z.string().min(1).describe('The whole answer'),
  }),
  execute: async (state, { text }) => {
    await emitThreadEvent(state, 'answered', { text })
    queueTool(state.rootState, 'close_case', { reason: 'answered' })
    return {
      status: 'success',
      result: 'Sent',
      attachments: [{ name: 'answer.txt', mimeType: 'text/plain', data: Buffer.from(text).toString('base64') }],
    }
  },
})
