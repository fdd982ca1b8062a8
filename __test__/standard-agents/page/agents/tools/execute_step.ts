// What the document's workflow queues.
import { defineTool, queueTool } from 'toolwright/standard-agents'
import { z } from 'zod'

export default defineTool({
  description: 'Execute a step of a workflow',
  args: z.object({ workflowId: z.string(), step: z.number() }),
  execute: async (state, { workflowId, step }) => {
    if (step < 3) queueTool(state.rootState, 'execute_step', { workflowId, step: step + 1 })
    return { status: 'success', result: `${workflowId}: step ${step}` }
  },
})
