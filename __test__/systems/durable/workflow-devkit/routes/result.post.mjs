import { getRun } from 'workflow/api'

export default async (event) => {
  const run = getRun(await event.req.text())
  const status = await run.status
  return { status, result: status === 'completed' ? await run.returnValue : undefined }
}
