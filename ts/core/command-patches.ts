/** The patches of a command, as reported by the program `apply_patch` in it. */
import type * as Addon from '../../index.js'

/** A patch that a command has applied or tried to apply. */
export type ReportedPatch = Addon.ReportedPatch

/** Collects the reports of one command. */
export class CommandPatches {
  #reports: Addon.PatchReports | undefined

  /** Passed to the addon's call that runs the command; nothing, if none of its words names the program. */
  of(addon: typeof Addon, words: readonly string[]): Addon.PatchReports | undefined {
    if (!words.some((word) => word.includes('apply_patch'))) return undefined
    return (this.#reports ??= new addon.PatchReports())
  }

  /** The reports, once the command has ended. */
  take(): ReportedPatch[] {
    return this.#reports?.take() ?? []
  }
}
