import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'

const entry = createRequire(import.meta.url).resolve('@agentclientprotocol/sdk')
const folder = entry.slice(0, entry.lastIndexOf(join('sdk', 'dist')))
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
for (const version of ['v1', 'v2']) {
  ajv.addSchema(JSON.parse(readFileSync(join(folder, 'sdk', 'schema', version, 'schema.json'), 'utf8')) as object, `acp-${version}`)
}

/** What is wrong with a value by the protocol's own schema; `null` when it fits. */
export function acpProblems(definition: string, value: unknown, version: 1 | 2 = 1): unknown {
  const validate = ajv.getSchema(`acp-v${version}#/$defs/${definition}`)
  if (validate === undefined) throw new Error(`version ${version} of the protocol has no ${definition}`)
  return validate(JSON.parse(JSON.stringify(value))) === true ? null : validate.errors
}
