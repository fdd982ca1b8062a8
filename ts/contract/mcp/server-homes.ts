import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type * as Addon from '../../../index.js'
import { PrivateDirectory } from '../../core/private-directory.js'

export type ServerHomesAddon = typeof Addon

/**
 * The home directories of a session's servers. They are outside the session's directory, which its tools may read without
 * asking, because a server may store credentials in its home.
 */
export class ServerHomes {
  readonly #addon: ServerHomesAddon
  #directory: PrivateDirectory | undefined

  constructor(addon: ServerHomesAddon) {
    this.#addon = addon
  }

  /** The home of a server, the same for each start. */
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
