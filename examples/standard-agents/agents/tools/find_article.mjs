import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'

const articles = {
  refunds: 'A refund takes five working days.',
  shipping: 'Orders are shipped within two days.',
}

export default defineTool({
  description: 'Find an article of the handbook by its topic',
  args: z.object({
    topic: z.enum(['refunds', 'shipping']).describe('What the customer asks about'),
  }),
  execute: async (state, { topic }) => {
    const seen = (await state.storage.get('seen')) ?? []
    await state.storage.put('seen', [...seen, topic])
    return { status: 'success', result: articles[topic] }
  },
})
