/** Formats files of a set after a change, by what the project has. The formatter runs in the sandbox of commands without a network. */
import { relative } from 'node:path'
import { grantedRoot } from '../../core/grants.js'
import { callLimited } from '../../core/native.js'
import { realRoot } from '../../core/near-paths.js'
import { type FormatHost, formatFiles } from '../../formatters/format-file.js'
import { FORMATTER_IO, NotFormatted } from '../../formatters/format-text.js'
import { projectFiles, projectText } from '../../formatters/project-files.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallPlan, type CallSettings } from './call-plan.js'
import { startConfined } from './start-confined.js'

/** Makes a change and then formats its files, if the set does. @returns what the change has returned, and a note. */
export async function changeAndFormat<T>(
  formats: boolean,
  paths: readonly string[],
  call: CallSettings,
  bound: BoundToolOptions,
  change: () => Promise<T>,
): Promise<{ result: T; formatNote: string | undefined }> {
  const result = await change()
  if (!formats) return { result, formatNote: undefined }
  const plan = callPlan(call)
  const root = await realRoot(plan.rootDir)
  const fromRoot = paths.map((path) => (path.startsWith('/') ? relative(root, path) : path))
  return { result, formatNote: await formatFiles(fromRoot, formatHost(plan, bound)) }
}

function formatHost(plan: CallPlan, bound: BoundToolOptions): FormatHost {
  const textOf = (path: string): Promise<string | undefined> => projectText(plan, path, plan.maxOutputBytes, plan.signal)
  return {
    files: projectFiles(plan, plan.signal),
    signal: plan.signal,
    text: textOf,
    start: ({ name, ...program }, signal) => startConfined(plan, bound, { ...program, what: `formatter ${name}` }, signal, FORMATTER_IO),
    replace: async (path, before, after) => {
      if ((await textOf(path)) !== before) throw new NotFormatted('the file has changed meanwhile')
      await callLimited(plan.changeLimits(`format ${path}`), (addon, cancel) =>
        addon.write(grantedRoot(addon, plan), path, after, plan.maxOutputBytes, false, plan.publishSeen(addon), cancel),
      )
    },
  }
}
