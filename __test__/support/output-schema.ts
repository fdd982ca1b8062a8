import { asSchema } from 'ai'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'

const options = { strict: false, allErrors: true }
const validators = new WeakMap<object, ValidateFunction>()

/** Compiles the `outputSchema` of an AI SDK tool as other programs would. */
async function validatorOf(outputSchema: object): Promise<ValidateFunction> {
  const known = validators.get(outputSchema)
  if (known !== undefined) return known
  const schema = (await asSchema(outputSchema as never).jsonSchema) as Record<string, unknown>
  const is2020 = String(schema['$schema']).includes('2020-12')
  const made = is2020 ? new Ajv2020(options).compile(schema) : new Ajv(options).compile(schema)
  validators.set(outputSchema, made)
  return made
}

/** Why an output does not fit the `outputSchema` of its tool; empty if it does. */
export async function outputProblems(tool: object, output: unknown): Promise<string[]> {
  const { outputSchema } = tool as { outputSchema?: object }
  if (outputSchema === undefined) return ['the tool has no outputSchema']
  const validate = await validatorOf(outputSchema)
  if (validate(JSON.parse(JSON.stringify(output)))) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** @throws for an output that does not fit the `outputSchema` of its tool. */
export async function expectOutput(tool: object, output: unknown): Promise<void> {
  const problems = await outputProblems(tool, output)
  if (problems.length > 0) throw new Error(`${JSON.stringify(output).slice(0, 500)} does not fit outputSchema: ${problems.join('; ')}`)
}
