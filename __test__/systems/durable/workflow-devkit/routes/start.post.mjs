import { start } from 'workflow/api'
import { task as alone } from '../workflows/alone.mjs'
import { task } from '../workflows/task.ts'

export default async (event) => (await start(process.env.MODE === 'alone' ? alone : task, [await event.req.text()])).runId
