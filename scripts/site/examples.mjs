// Where the documentation shows an option in use: in a block that is compiled.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { slugOf } from '../checks/slug.mjs'
import { root } from '../setup/paths.mjs'

const PLACE = 'option-examples.md'

/** The blocks of a page, each with the heading that it stands below. */
function blocksOf(page) {
  const text = readFileSync(join(root, 'docs', page), 'utf8')
  const parts = text.split(/^(?=#{1,4} )/mu)
  return parts.flatMap((part) => {
    const heading = /^#+ (.+)$/mu.exec(part)?.[1] ?? page
    const blocks = [...part.matchAll(/^```(?:js|mjs|ts|tsx)[^\n]*\n([^]*?)^```/gmu)]
    return blocks.map(([, code]) => ({ page, heading, code, about: part }))
  })
}

/** A function that finds an example of an option: first where its interface is named, then anywhere. */
export function examples() {
  const pages = readdirSync(join(root, 'docs'), { recursive: true }).filter((file) => file.endsWith('.md') && !file.startsWith('decisions'))
  const blocks = pages.flatMap(blocksOf)
  return (name, option) => {
    const uses = new RegExp(`[{,(\\s]${option}\\b\\s*[:,}(]`, 'u')
    const found = blocks.filter(({ code }) => uses.test(code))
    const best =
      found.find(({ page, about }) => page === PLACE && about.includes(`\`${name}\``)) ??
      found.find(({ page }) => page !== PLACE) ??
      found[0]
    return best && { title: best.heading.replaceAll('`', ''), link: `${best.page}#${slugOf(best.heading)}` }
  }
}
