// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
// oxlint-disable no-unused-vars
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'

export default defineTool({
  description: 'Look up customer information',
  args: z.object({
    customerId: z.string().describe('Customer ID'),
  }),
  execute: async (state, args) => {
    // Access environment bindings
    const db = state.env.DB

    // Access custom context
    const userId = state.context.userId

    // Access storage
    const cached = await state.storage.get(`customer:${args.customerId}`)
    if (cached) {
      return { status: 'success', result: cached }
    }

    const customer = await db.prepare('SELECT * FROM customers WHERE id = ?').bind(args.customerId).first()

    return {
      status: 'success',
      result: JSON.stringify(customer),
    }
  },
})
