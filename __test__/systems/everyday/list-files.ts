// Its text is also a program, for a process that sees another view of the folder.
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Every file below a folder with what is in it. `differs` is an expression for the paths that are left out. */
export function listFiles(folder: string, differs?: string): Record<string, string> {
  const isLeftOut = (path: string): boolean => differs !== undefined && new RegExp(differs).test(path)
  const files: Record<string, string> = {}
  const visit = (path: string): void => {
    for (const name of readdirSync(join(folder, path))) {
      const below = path === '' ? name : `${path}/${name}`
      if (isLeftOut(below)) continue
      const stat = lstatSync(join(folder, below))
      const mode = (stat.mode & 0o7777).toString(8)
      if (stat.isDirectory()) {
        files[`${below}/`] = mode
        if (!isLeftOut(`${below}/`)) visit(below)
      } else if (stat.isSymbolicLink()) files[below] = `-> ${readlinkSync(join(folder, below))}`
      else if (stat.isFile()) {
        const sum = createHash('sha256').update(readFileSync(join(folder, below)))
        files[below] = `${mode} ${sum.digest('hex').slice(0, 16)}`
      } else files[below] = 'special'
    }
  }
  visit('')
  return files
}
