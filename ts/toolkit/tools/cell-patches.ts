/** What a model is told whose patch is of the JSON of a notebook, which it is shown as cells. */
import { ToolError, withHint } from '../../core/errors.js'
import { kindOfName } from '../../documents/kinds.js'

/** A line of the JSON of a notebook, in a patch. */
const jsonLine = /^[-+ ]\s*(?:"(?:cell_type|source|metadata|outputs|cells|execution_count)":|"(?:[^"\\]|\\.)*\\n",?$)/mu

/** Throws the failure of a patch again, with the move where it was of the JSON of a notebook. */
export const namingCells =
  (showsDocuments: boolean, patch: string) =>
  (error: unknown): never => {
    const isOfNotebook = ToolError.isInstance(error) && kindOfName(String(error.details['path'])) === 'notebook'
    if (!showsDocuments || !isOfNotebook || error.code !== 'TOOL_PATCH_FAILED' || !jsonLine.test(patch)) throw error
    throw withHint(error, 'The patch changes the JSON of the notebook. Patch the cells instead, as `read` shows them.')
  }
