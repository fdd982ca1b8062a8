/** The patches of a command: what the program `apply_patch` in it has told about them. */
import type * as Addon from '../../index.js'

/** A patch that a command has applied, or has tried to. */
export type ReportedPatch = Addon.ReportedPatch

/** Collects the reports of one command. */
export class CommandPatches {
  #reports: Addon.PatchReports | undefined

  /** For the call of the addon that runs the command. */
  of(addon: typeof Addon): Addon.PatchReports {
    return (this.#reports ??= new addon.PatchReports())
  }

  /** The reports, once the command has ended in whichever way. */
  take(): ReportedPatch[] {
    return this.#reports?.take() ?? []
  }
}
