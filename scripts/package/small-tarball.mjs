// A tarball of npm as a smaller one of the same files. Deflate finds what is repeated within 32 KB, and zopfli looks longer for it
// than zlib does; together they leave out a tenth.
import { readFileSync, writeFileSync } from 'node:fs'
import { deflateRawSync, gunzipSync } from 'node:zlib'
import { importTool, installedTools } from './tools.mjs'

const BLOCK = 512
/** How far deflate looks back. */
const WINDOW = 32_768

/** The files of a tar, each with its header and padding as they are. */
function entriesOf(tar) {
  const entries = []
  let at = 0
  while (tar[at] !== 0) {
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 136), 8)
    // npm writes a second header for names that are too long for one; such a pair would have to stay together.
    if (tar[at + 156] !== '0'.charCodeAt(0)) throw new Error(`the tarball has an entry of type ${tar[at + 156]}`)
    const end = at + BLOCK + Math.ceil(size / BLOCK) * BLOCK
    entries.push(tar.subarray(at, end))
    at = end
  }
  return entries
}

const packedSize = (data, dictionary) => deflateRawSync(data, { level: 9, ...(dictionary && { dictionary }) }).length

/** The entries, so that each comes after the one that has most in common with it and is not taken yet. */
function likeAfterLike(entries) {
  const alone = new Map(entries.map((entry) => [entry, packedSize(entry)]))
  const left = new Set(entries)
  const order = [entries[0]]
  left.delete(entries[0])
  while (left.size > 0) {
    const dictionary = order.at(-1).subarray(-WINDOW)
    let [next, most] = [undefined, Number.NEGATIVE_INFINITY]
    for (const entry of left) {
      const saved = alone.get(entry) - packedSize(entry, dictionary)
      if (saved > most) [next, most] = [entry, saved]
    }
    order.push(next)
    left.delete(next)
  }
  return order
}

/** Writes the tarball anew, in place. The same files give the same bytes. */
export async function writeSmaller(tarball) {
  const { default: zopfli } = await importTool(installedTools('package/tools'), '@gfx/zopfli')
  const entries = entriesOf(gunzipSync(readFileSync(tarball)))
  const tar = Buffer.concat([...likeAfterLike(entries), Buffer.alloc(2 * BLOCK)])
  writeFileSync(tarball, await zopfli.gzipAsync(tar, { numiterations: 5 }))
}
