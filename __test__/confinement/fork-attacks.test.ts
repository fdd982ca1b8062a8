/** Each attack, by a command in a fork of the root. */
import { eachAttackHasNoEffect } from './each-attack.ts'

await eachAttackHasNoEffect('forked', 'in a fork of')
