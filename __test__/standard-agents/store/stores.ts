// What the tests of this folder use, by one name each. The processes that they start run what was built.
export type { ToolErrorCode } from '../../../dist/core/codes.js'
export { ToolError } from '../../../dist/core/errors.js'
export { openThreadStore, waitForWorker } from '../../../dist/standard-agents/store/open-thread-store.js'
export { streamAttachment } from '../../../dist/standard-agents/store/attachment-bytes.js'
export { threadStorage, type ThreadStorage } from '../../../dist/standard-agents/store/thread-storage.js'
export type * from '../../../dist/standard-agents/store/thread-store.js'
