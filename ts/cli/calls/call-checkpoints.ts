import { openToLook } from '../../journal/checkpoints/open-checkpoints.js'
import { CheckpointDiffs } from '../../report/checkpoint-diffs.js'
import { UsageError } from '../program.js'

/** Works with the checkpoints that `--dir` names, if it is given. @throws {UsageError} for `--store` alone. */
export async function withCheckpoints<T>(
  command: string,
  { dir, store }: { dir?: string | undefined; store?: string | undefined },
  work: (diffs: CheckpointDiffs | undefined) => Promise<T>,
): Promise<T> {
  if (dir === undefined) {
    if (store !== undefined) throw new UsageError(`${command}: --store belongs to --dir`)
    return work(undefined)
  }
  const checkpoints = await openToLook(dir, store)
  try {
    return await work(new CheckpointDiffs(checkpoints))
  } finally {
    await checkpoints.close()
  }
}
