import { join } from 'node:path'
import { type KeepOptions, type KeptProcess, type ProcessObserver, startProcess } from '../../ts/core/kept-process.ts'
import { planCommand } from '../../ts/toolkit/tools/call-plan.ts'
import { resolveSettings, type ToolOptions } from '../../ts/toolkit/settings.ts'

/** Keeps a program running below a root, with the settings of a tool set. */
export function keep(
  root: string,
  [cmd, ...args]: [string, ...string[]],
  options: KeepOptions = {},
  { observer, ...bound }: ToolOptions & { observer?: ProcessObserver; signal?: AbortSignal } = {},
): Promise<KeptProcess> {
  const { signal, ...rest } = bound
  const tools = { rootDir: join(root), ...rest }
  const plan = planCommand({ cmd, args }, { settings: resolveSettings(undefined, tools, 'bash'), signal }, tools)
  return startProcess(
    plan.limits,
    (addon, keep, cancel) => addon.startProcess(plan.settings(addon), plan.command, keep, cancel),
    options,
    observer,
  )
}

/** All output so far, as text. */
export async function printed(process: KeptProcess, stream: 'stdout' | 'stderr' = 'stdout'): Promise<string> {
  const { bytes } = await process.read({ stream, maxBytes: 1 << 30 })
  return bytes.toString()
}

/** Waits until the output has this. */
export async function says(process: KeptProcess, text: string): Promise<string> {
  for (let from = 0, all = ''; ;) {
    const piece = await process.read({ from, waitMs: 20_000 })
    all += piece.bytes.toString()
    if (all.includes(text)) return all
    if (piece.bytes.length === 0) throw new Error(`${JSON.stringify(text)} is not in ${JSON.stringify(all)}`)
    from = piece.at + piece.bytes.length
  }
}
