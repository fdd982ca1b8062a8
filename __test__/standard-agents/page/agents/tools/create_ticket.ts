// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
import { createTicket } from '../../services.ts'

export default defineTool({
  description: 'Create a support ticket',
  args: z.object({
    title: z.string().min(5).max(200).describe('Ticket title'),
    description: z.string().describe('Detailed description'),
    priority: z.enum(['low', 'medium', 'high', 'urgent']).default('medium'),
    category: z.string().describe('Ticket category'),
    tags: z.array(z.string()).optional().describe('Optional tags'),
    assignee: z.string().optional().describe('User ID to assign to'),
  }),
  execute: async (state, args) => {
    const ticket = await createTicket(args)
    return {
      status: 'success',
      result: `Created ticket #${ticket.id}: ${ticket.title}`,
    }
  },
})
