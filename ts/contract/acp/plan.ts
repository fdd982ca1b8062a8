import { parseOptions } from '../../core/options.js'
import { recordOf } from '../registry/json-schema.js'
import { protocolVersion } from './version.js'

/** One entry of a plan. The protocol requires a priority; a todo list has only an order. */
export interface AcpPlanEntry {
  content: string
  priority: 'high' | 'medium' | 'low'
  status: 'pending' | 'in_progress' | 'completed'
}

/** A plan, as an update of a session in version 1 or version 2. */
export type AcpPlanUpdate =
  | { sessionUpdate: 'plan'; entries: AcpPlanEntry[] }
  | { sessionUpdate: 'plan_update'; plan: { type: 'items'; planId: string; entries: AcpPlanEntry[] } }

/** A session has one todo list, which each call of `todo` replaces. */
const PLAN_ID = 'todo'

/**
 * Converts the todo list of a call of `todo` into a plan.
 *
 * @param args the arguments of the call.
 */
export function toAcpPlan(args: unknown, options: { version?: 1 | 2 | undefined } = {}): AcpPlanUpdate {
  const { version } = parseOptions('toAcpPlan', options, { version: protocolVersion })
  const { todos } = recordOf(args)
  const entries = (Array.isArray(todos) ? (todos as unknown[]) : []).map(entryOf)
  return version === 1
    ? { sessionUpdate: 'plan', entries }
    : { sessionUpdate: 'plan_update', plan: { type: 'items', planId: PLAN_ID, entries } }
}

function entryOf(todo: unknown): AcpPlanEntry {
  const { content, status, active_form: active } = recordOf(todo)
  const isActive = status === 'in_progress' && typeof active === 'string'
  return {
    content: String(isActive ? active : content),
    priority: 'medium',
    status: status === 'in_progress' || status === 'completed' ? status : 'pending',
  }
}
