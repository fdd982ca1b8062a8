/** `toolwright/addon`: where the native addon is, for bundlers and packagers. */
export { addonPath } from './core/addon.js'
export { ToolError } from './core/errors.js'
export type { ToolErrorCode } from './core/codes.js'
