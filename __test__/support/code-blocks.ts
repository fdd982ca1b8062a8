import { readFileSync } from 'node:fs'
import { codeBlocks as blocksOf, type CodeBlock } from '../../scripts/code-blocks/extract.mjs'

export type { CodeBlock }

/** The code blocks of a page of `docs/`, by their order. */
export function codeBlocks(page: string): CodeBlock[] {
  return blocksOf(readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8'))
}

/** The code block of a page that is the file of this name. */
export function blockOf(page: string, path: string): string {
  const blocks = codeBlocks(page).filter((block) => block.path === path)
  if (blocks.length !== 1) throw new Error(`${page} has ${blocks.length} blocks that begin with // ${path}`)
  return blocks[0]?.code ?? ''
}
