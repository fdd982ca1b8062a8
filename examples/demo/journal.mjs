import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { openJournal, ToolError } from 'toolwright'
import { harmless } from './display.mjs'
import { UsageError } from './options.mjs'

/**
 * Opens the journal of the demo: the file that was given, or one in a temporary directory, which stays
 * for whoever wants to look at it.
 *
 * @param {string | undefined} given
 */
export async function openDemoJournal(given) {
  const file = given === undefined ? join(mkdtempSync(join(realpathSync(tmpdir()), 'toolwright-journal-')), 'runs.db') : resolve(given)
  const journal = await openJournal(file).catch((error) => {
    throw ToolError.isInstance(error) ? new UsageError(`--journal ${given}: ${error.message}`) : error
  })
  return {
    journal,

    /** Closes it, and gives the line that says how to look at it. */
    async close() {
      const calls = (await journal.listRuns()).reduce((sum, run) => sum + run.calls, 0)
      await journal.close()
      if (calls > 0) return `journal   ${calls} calls: npx toolwright calls ${harmless(quoted(file))}`
      if (given === undefined) rmSync(dirname(file), { recursive: true, force: true })
      return undefined
    },
  }
}

/** @param {string} path */
const quoted = (path) => (/^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)
