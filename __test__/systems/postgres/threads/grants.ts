import { codeBlocks } from '../../../support/code-blocks.ts'

/** The rights that the guide lists for a role that works with threads, of a schema and a role. */
export function grants(schema: string, role: string): string {
  const blocks = codeBlocks('standard-agents.md').filter(({ language }) => language === 'sql')
  const [block, ...others] = blocks
  if (block === undefined || others.length > 0) throw new Error('the guide has one list of rights')
  return block.code.replaceAll('public', `"${schema}"`).replaceAll(/\bagent\b/gu, role)
}
