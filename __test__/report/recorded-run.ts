import { openJournal, type Journal } from 'toolwright'

/** Characters that a page, a terminal or a parser could obey. */
export const HOSTILE = `</script><script>globalThis.attacked = true</script><img src=x onerror="globalThis.attacked = true">\u202e\u0007\u{1b}[2J&lt;`

/** When the recorded runs begin. */
export const START = Date.UTC(2026, 10, 20, 12)

export interface RunShape {
  calls: number
  runs?: number
  /** The output of every call. */
  output?: string
}

/** A journal whose calls are of many tools, tasks and outcomes. */
export async function writeRun(path: string, { calls, runs = 1, output = 'ok' }: RunShape): Promise<void> {
  const journal = await openJournal(`file:${path}`)
  for (let index = 0; index < calls; index += 1) await insert(journal, index, Math.floor((index * runs) / calls), output)
  await journal.close()
}

const tools = ['read', 'edit', 'grep', 'bash', 'write', 'deploy'] as const

async function insert(journal: Journal, index: number, run: number, output: string): Promise<void> {
  const tool = tools[index % tools.length] as string
  const startedAtMs = START + index * 250
  const isFailed = index % 20 === 7
  await journal.insertToolCall({
    runId: `run-${run + 1}`,
    nodeId: ['planner', 'writer', 'tests'][index % 3] as string,
    attempt: 1,
    seq: index + 1,
    toolName: tool,
    inputJson: JSON.stringify(inputOf(tool, index)),
    startedAtMs,
    finishedAtMs: startedAtMs + (tool === 'bash' ? 600 : 20),
    sideEffect: tool !== 'read' && tool !== 'grep',
    status: isFailed ? 'error' : index % 50 === 9 ? 'unknown' : 'success',
    acted: index % 40 !== 7,
    ...(isFailed
      ? { errorJson: JSON.stringify({ name: 'ToolError', code: 'PATCH_FAILED', message: `Hunk 1 does not fit.\n${HOSTILE}` }) }
      : { outputJson: JSON.stringify(output), whole: true }),
  })
}

function inputOf(tool: string, index: number): object {
  if (tool === 'bash') return { command: `npm test -- --only ${index}` }
  if (tool === 'grep') return { pattern: 'TODO', path: 'src' }
  if (tool === 'edit') return { path: 'src/sum.ts', old_string: 'const a = 1\nreturn a\n', new_string: 'const a = 2\nreturn a\n' }
  return { path: `src/file${index % 9}.ts` }
}
