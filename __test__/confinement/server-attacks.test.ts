/** Each attack, by a server of a session. */
import { eachAttackHasNoEffect } from './each-attack.ts'

await eachAttackHasNoEffect('server', 'a server of')
