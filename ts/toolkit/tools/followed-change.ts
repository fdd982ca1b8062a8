/** What follows a change of files before its answer: formatters, and language servers. */
import type { BoundToolOptions } from '../settings.js'
import type { CallSettings } from './call-plan.js'
import { changeAndFormat } from './format-on-edit.js'
import { changeWithProblems } from './language-checks.js'
import { type Followers, joinedNotes } from './model-output.js'

export const hasFollowers = ({ formats, languageServers }: Followers): boolean => formats || languageServers !== undefined

/**
 * Makes a change, formats its files, and looks for new problems in them.
 *
 * @returns what `change` has returned, and what there is to tell of its files.
 */
export async function changeAndFollow<T>(
  { formats, languageServers }: Followers,
  bound: BoundToolOptions,
  paths: readonly string[],
  call: CallSettings,
  change: () => Promise<T>,
): Promise<{ result: T; note: string | undefined }> {
  const { result: changed, note } = await changeWithProblems(languageServers, bound, paths, call, () =>
    changeAndFormat(formats, paths, call, bound, change),
  )
  return { result: changed.result, note: joinedNotes(changed.formatNote, note) }
}
