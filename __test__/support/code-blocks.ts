import { readFileSync } from 'node:fs'

/** The code blocks of a page of `docs/`, by their order, with the language each is marked with. */
export function codeBlocks(page: string): { language: string; code: string }[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```(?<language>\w+)\n(?<code>[^]*?)^```$/gmu)].map(({ groups }) => groups as { language: string; code: string })
}
