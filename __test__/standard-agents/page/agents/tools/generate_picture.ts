// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
import { generateImage } from '../../services.ts'

export default defineTool({
  description: 'Generate an image based on a text prompt',
  args: z.object({
    prompt: z.string().describe('Text description of the image'),
  }),
  execute: async (state, args) => {
    const image = await generateImage(args.prompt)
    return {
      status: 'success',
      result: `Generated image for: "${args.prompt}"`,
      attachments: [
        {
          name: `generated-${Date.now()}.png`,
          mimeType: 'image/png',
          data: image.base64,
          width: 1024,
          height: 1024,
        },
      ],
    }
  },
})
