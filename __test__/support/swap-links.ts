// Exchanges names below a directory with links that lead out of it, until it is killed.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [root = '', outside = ''] = process.argv.slice(2)
const directory = join(root, 'swap')
const file = join(root, 'swap.txt')
let round = 0
process.stdout.write('ready\n')
for (;;) {
  round += 1
  const [aside, asideFile] = [join(root, `.aside-${round}`), join(root, `.file-${round}`)]
  try {
    if (round % 2 === 0) {
      symlinkSync(outside, aside)
      symlinkSync(join(outside, 'secret'), asideFile)
    } else {
      mkdirSync(aside)
      writeFileSync(join(aside, 'secret'), 'decoy')
      writeFileSync(asideFile, 'decoy')
    }
    renameSync(asideFile, file)
    rmSync(directory, { recursive: true, force: true })
    renameSync(aside, directory)
  } catch {
    // A call under test was quicker.
    rmSync(aside, { recursive: true, force: true })
    rmSync(asideFile, { force: true })
  }
}
