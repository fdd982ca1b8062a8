import vm from 'node:vm'
import type { CheckArguments } from '../argument-checks.js'
import { ContractFailure } from '../codes.js'

/** How long arguments may be compared with a schema of somebody else's. */
const CHECK_MS = 500

const script = new vm.Script('check()')

/**
 * A check that ends: a schema of a server can hold a regular expression, or references, that take longer than anybody
 * waits, and the check runs on the host's own thread.
 */
export function boundedCheck(check: CheckArguments, limitMs = CHECK_MS): CheckArguments {
  return (args) => {
    try {
      // It runs our function, of this realm; what is wanted of the context is its watchdog.
      script.runInContext(vm.createContext({ check: () => check(args) }), { timeout: limitMs })
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      throw new ContractFailure('invalid_arguments', `The arguments could not be compared with the server's schema within ${limitMs} ms. Give shorter ones, or use another tool.`)
    }
  }
}
