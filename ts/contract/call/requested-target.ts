import type { OpenedTarget } from '../../../index.js'
import type { ToolError } from '../../core/errors.js'
import type { Subject } from '../permissions/rule-store.js'
import type { CallTarget } from '../registry/contract-tool.js'

/** What a call touches: opened, and within the capabilities. */
export interface RequestedTarget {
  target: CallTarget
  /** The file, or the directory of a command. Absent where it could not be opened. */
  opened: OpenedTarget | undefined
  /** Why it could not be opened; the tool reports it once the rules have decided. */
  error: ToolError | undefined
  /** Whether rules and user have agreed. Nothing uses the target before. */
  agreed: boolean
  /** Whether the user has been asked, and has agreed. */
  byUser: boolean
  subjects: Subject[]
}
