// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
import { processPayment } from '../../services.ts'

export default defineTool({
  description: 'Process payment',
  args: z.object({
    amount: z.number().positive(),
    currency: z.string().length(3),
  }),
  execute: async (state, args) => {
    try {
      const result = await processPayment(args.amount, args.currency)
      return {
        status: 'success',
        result: `Payment processed: ${result.transactionId}`,
      }
    } catch (error) {
      return {
        status: 'error',
        error: `Payment failed: ${error.message}`,
      }
    }
  },
})
