import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type * as Addon from '../../../index.js'
import { PrivateDirectory } from '../../core/private-directory.js'

export type ServerHomesAddon = typeof Addon

/**
 * The home directories of a session's servers. They are not in the directory of the session, which its tools read without
 * agreement: a server may keep there what it was given.
 */
export class ServerHomes {
  readonly #addon: ServerHomesAddon
  #directory: PrivateDirectory | undefined

  constructor(addon: ServerHomesAddon) {
    this.#addon = addon
  }

  /** The home of a server: the same one each time it is started. */
  of(name: string): string {
    this.#directory ??= new PrivateDirectory(this.#addon)
    const home = join(this.#directory.path, name)
    mkdirSync(home, { recursive: true, mode: 0o700 })
    return home
  }

  async remove(): Promise<void> {
    await this.#directory?.remove()
  }
}
