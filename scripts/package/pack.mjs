import { join } from 'node:path'
import { npm } from './npm.mjs'

/** `npm pack`, without the lifecycle scripts, into `destination`. Returns the tarball and the files in it. */
export function pack(folder, destination) {
  const output = npm(['pack', '--json', '--ignore-scripts', '--pack-destination', destination], folder)
  const parsed = JSON.parse(output)
  const [packed] = Array.isArray(parsed) ? parsed : Object.values(parsed)
  return { tarball: join(destination, packed.filename), files: packed.files.map(({ path }) => path) }
}
