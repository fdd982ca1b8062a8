/**
 * A row of the table: an operation and what must be reached.
 * @typedef {object} Goal
 * @property {string} id
 * @property {string} operation
 * @property {string} [workload] what is measured for it; without one, `pending` says why not
 * @property {'ratio' | 'over' | 'delay' | 'time' | 'added'} [measure] `ratio` of `against` to ours, how much
 *   faster we are; our time `over` that of `against`, which is the least that can be had; or in
 *   milliseconds: the event loop's `delay`, our own `time`, or what is `added` to `against`. @default 'ratio'
 * @property {string} [against] @default 'smithers'
 * @property {number} [must] under it (over it, for all but `ratio`) is a defect
 * @property {number} [target]
 * @property {string} [pending]
 * @property {string} [quickly] what a quick run measures in its place
 */

/** @type {Goal[]} */
export const goals = [
  { id: 'read-1k', operation: 'read 1 KB', workload: 'read-1k', must: 6, target: 9 },
  { id: 'read-200k', operation: 'read 200 KB', workload: 'read-200k', must: 2.5, target: 4 },
  { id: 'read-1k-fs', operation: 'read 1 KB, over fs.promises', workload: 'read-1k', against: 'fs', must: 1 },
  { id: 'read-200k-fs', operation: 'read 200 KB, over fs.promises', workload: 'read-200k', against: 'fs', must: 1 },
  {
    id: 'read-200k-sync',
    operation: "read 200 KB, times Node's readFileSync",
    workload: 'read-200k',
    measure: 'over',
    against: 'sync',
    must: 1.35,
  },
  {
    id: 'read-200k-sync-wide',
    operation: 'the same, text that is not ASCII',
    workload: 'read-200k-wide',
    measure: 'over',
    against: 'sync',
  },
  { id: 'read-1k-bun', operation: "read 1 KB in Bun, over Bun's fs", workload: 'read-1k-bun', against: 'fs', must: 1 },
  { id: 'read-200k-bun', operation: "read 200 KB in Bun, over Bun's fs", workload: 'read-200k-bun', against: 'fs', must: 1 },
  { id: 'write-1k', operation: 'write 1 KB, atomic', workload: 'write-1k', must: 2, target: 2.7 },
  {
    id: 'write-1k-bare',
    operation: 'the same, times a bare C program (temporary file, rename)',
    workload: 'write-1k-bare',
    measure: 'over',
    against: 'bare',
    must: 1.15,
  },
  { id: 'write-200k', operation: 'write 200 KB, atomic', workload: 'write-200k', must: 1.8, target: 2.5 },
  { id: 'edit-1', operation: 'edit 190 KB, 1 hunk', workload: 'edit-1', must: 2.5, target: 4 },
  { id: 'edit-500', operation: 'edit 190 KB, 500 hunks', workload: 'edit-500', must: 2.5, target: 4.5 },
  { id: 'parallel-edit', operation: '64 parallel edits of 64 files', workload: 'parallel-edit', must: 5, target: 8 },
  {
    id: 'apply-patch',
    operation: 'one patch of 500 hunks over 50 files, times 50 single edits',
    workload: 'apply-patch',
    measure: 'over',
    against: 'edits',
    must: 1.3,
  },
  {
    id: 'parallel-edit-delay',
    operation: '64 parallel edits: event-loop delay',
    workload: 'parallel-edit',
    measure: 'delay',
    must: 10,
    target: 5,
  },
  { id: 'grep-20', operation: 'grep 20 files', workload: 'grep-20', must: 25, target: 40 },
  { id: 'grep-20-regex', operation: 'grep 20 files, pattern with \\w+', workload: 'grep-20-regex' },
  { id: 'grep-15k', operation: 'grep 15k files, full result', workload: 'grep-15k', must: 1.35, target: 1.8, quickly: '1,500 files' },
  {
    id: 'grep-15k-early',
    operation: 'grep 15k files, stopped early',
    workload: 'grep-15k-early',
    must: 10,
    target: 24,
    quickly: '1,500 files',
  },
  { id: 'grep-78k', operation: 'grep 78k files, full result', workload: 'grep-78k', must: 1.1, target: 1.5, quickly: '4,000 files' },
  { id: 'grep-20-bun', operation: 'grep 20 files, in Bun', workload: 'grep-20-bun' },
  { id: 'grep-15k-bun', operation: 'grep 15k files, in Bun', workload: 'grep-15k-bun', quickly: '1,500 files' },
  {
    id: 'glob-15k',
    operation: 'glob 15k files, over rg --files',
    workload: 'glob-15k',
    against: 'rg',
    must: 1.5,
    target: 2,
    quickly: '1,500 files',
  },
  { id: 'overview-78k', operation: 'overview of 78k files', workload: 'overview-78k', measure: 'time', must: 1000, quickly: '4,000 files' },
  {
    id: 'exec',
    operation: 'exec `true`, full default confinement, small process, times the floor',
    workload: 'exec',
    measure: 'over',
    against: 'floor',
    must: 1.3,
  },
  { id: 'exec-filters', operation: 'exec `true`, filters only (seccomp, Landlock)', workload: 'exec-filters', must: 1.8, target: 2.8 },
  {
    id: 'exec-330',
    operation: 'exec `true` in 330 MB, times the floor',
    workload: 'exec-330',
    measure: 'over',
    against: 'floor',
    must: 1.3,
  },
  {
    id: 'exec-1800',
    operation: 'exec `true` in 1.8 GB, times the floor',
    workload: 'exec-1800',
    measure: 'over',
    against: 'floor',
    must: 1.3,
  },
  { id: 'exec-small', operation: 'exec a program without a C library', workload: 'exec-small' },
  { id: 'exec-small-330', operation: 'exec a program without a C library in 330 MB', workload: 'exec-small-330' },
  { id: 'exec-small-1800', operation: 'exec a program without a C library in 1.8 GB', workload: 'exec-small-1800' },
  { id: 'exec-bun', operation: 'exec `true` in Bun', workload: 'exec-bun', must: 0.7, target: 1.2 },
  { id: 'capture-1m', operation: 'capture 1 MB', workload: 'capture-1m', must: 3, target: 4.5 },
  { id: 'capture-10m', operation: 'capture 10 MB', workload: 'capture-10m', must: 1.7, target: 3 },
  { id: 'parallel-exec', operation: '64 parallel exec in 330 MB', workload: 'parallel-exec', must: 8, target: 20 },
  {
    id: 'parallel-exec-delay',
    operation: '64 parallel exec: event-loop delay',
    workload: 'parallel-exec',
    measure: 'delay',
    must: 10,
    target: 5,
  },
  { id: 'parallel-grep', operation: '64 parallel small greps in 330 MB', workload: 'parallel-grep', must: 30, target: 60 },
  {
    id: 'parallel-grep-delay',
    operation: '64 parallel greps: event-loop delay',
    workload: 'parallel-grep',
    measure: 'delay',
    must: 10,
    target: 5,
  },
  { id: 'process-ready', operation: 'from `listen` of a process to `ready(port)`', workload: 'process-ready', measure: 'time', must: 20 },
  { id: 'process-echo', operation: 'a character to a terminal and back', workload: 'process-echo', measure: 'time', must: 5, target: 1 },
  { id: 'process-sequence', operation: '64 MB of output by sequence', workload: 'process-sequence', measure: 'time', must: 1000 },
  {
    id: 'session-run',
    operation: '`run` of the sandbox session, times `bash`',
    workload: 'session-run',
    measure: 'over',
    against: 'bash',
    must: 1.15,
  },
  {
    id: 'journal',
    operation: 'journal rows around a call with a side effect',
    workload: 'journal',
    measure: 'added',
    against: 'plain',
    must: 0.05,
    target: 0.02,
  },
  {
    id: 'journal-behind',
    operation: 'journal row of a call without one',
    workload: 'journal-behind',
    measure: 'added',
    against: 'plain',
    must: 0.05,
    target: 0.02,
  },
  {
    id: 'journal-read',
    operation: 'journal row of `read`, 1 KB',
    workload: 'journal-read',
    measure: 'added',
    against: 'plain',
    must: 0.05,
    target: 0.02,
  },
  {
    id: 'unheard-read',
    operation: 'what 100 calls ask of channels that nobody listens to, times one read of 1 KB',
    workload: 'unheard-read',
    measure: 'over',
    against: 'call',
    must: 1,
  },
  {
    id: 'unheard-bash',
    operation: 'the same, times one exec `true`',
    workload: 'unheard-bash',
    measure: 'over',
    against: 'call',
    must: 1,
  },
  {
    id: 'unheard-bash-bun',
    operation: 'the same, in Bun',
    workload: 'unheard-bash-bun',
    measure: 'over',
    against: 'call',
    must: 1,
  },
  { id: 'journal-list', operation: 'list 100,000 rows', workload: 'journal-list', measure: 'time', must: 1000, quickly: '5,000 rows' },
  {
    id: 'contract-read',
    operation: 'what the tool contract adds to a read of 1 KB',
    workload: 'contract-read',
    measure: 'time',
    must: 0.06,
  },
  { id: 'contract-read-bun', operation: 'the same in Bun', workload: 'contract-read-bun', measure: 'time', must: 0.06 },
  { id: 'seen-read', operation: 'noting what a read of 1 KB has shown', workload: 'seen-read', measure: 'time', must: 0.005 },
  { id: 'contract-import', operation: 'import of the tool contract', workload: 'contract-import', measure: 'time', must: 40 },
  {
    id: 'thread-call',
    operation: 'call on a thread of Standard Agents, stored',
    workload: 'thread-call',
    measure: 'time',
    must: 5,
    target: 1,
  },
  { id: 'thread-1000', operation: '1,000 calls at once on one thread', workload: 'thread-1000', measure: 'time', must: 5000, target: 1000 },
  { id: 'thread-64', operation: '64 threads at once, 16 calls each', workload: 'thread-64', measure: 'time', must: 5000, target: 1000 },
  {
    id: 'host-connect',
    operation: 'connect to a host by name, beyond a direct one',
    workload: 'host-connect',
    measure: 'added',
    against: 'direct',
    must: 0.5,
  },
  {
    id: 'host-throughput',
    operation: '256 MB from a host by name, times a direct connection',
    workload: 'host-throughput',
    measure: 'over',
    against: 'direct',
    must: 1.03,
  },
  { id: 'mcp-start', operation: 'start of the MCP server, beyond that of Node', workload: 'mcp-start', measure: 'time', must: 200 },
  { id: 'import', operation: 'import, over one that imports zod', workload: 'import', measure: 'time', must: 40, target: 15 },
  {
    id: 'checkpoint-15k-first',
    operation: 'first checkpoint of 15,000 files',
    workload: 'checkpoint-15k-first',
    measure: 'time',
    must: 1000,
    quickly: '1,500 files',
  },
  { id: 'checkpoint-15k-first-git', operation: 'the same, over a shadow git', workload: 'checkpoint-15k-first', against: 'git', must: 1 },
  {
    id: 'checkpoint-15k-same',
    operation: 'checkpoint of 15,000 files, unchanged',
    workload: 'checkpoint-15k-same',
    measure: 'time',
    must: 80,
    target: 40,
    quickly: '1,500 files',
  },
  {
    id: 'checkpoint-15k-next',
    operation: 'checkpoint of 15,000 files, 3 changed',
    workload: 'checkpoint-15k-next',
    measure: 'time',
    must: 80,
    target: 40,
    quickly: '1,500 files',
  },
  { id: 'checkpoint-15k-next-git', operation: 'the same, over a shadow git', workload: 'checkpoint-15k-next', against: 'git', must: 1 },
  {
    id: 'checkpoint-78k-next',
    operation: 'checkpoint of 78,000 files, 3 changed',
    workload: 'checkpoint-78k-next',
    measure: 'time',
    must: 300,
    quickly: '4,000 files',
  },
  {
    id: 'checkpoint-restore',
    operation: 'restore 100 files of 15,000',
    workload: 'checkpoint-restore',
    measure: 'time',
    must: 100,
    quickly: '1,500 files',
  },
]

/**
 * The goals whose id has one of the names as a part (`read`, `edit-500`, `bun`).
 * @param {string[] | undefined} names
 */
export function chooseGoals(names) {
  if (names === undefined) return goals
  const unknown = names.find((name) => goals.every(({ id }) => !isNamed(id, name)))
  if (unknown !== undefined) throw new TypeError(`no row ${unknown}; they are ${goals.map(({ id }) => id).join(', ')}`)
  return goals.filter(({ id }) => names.some((name) => isNamed(id, name)))
}

const isNamed = (id, name) => `-${id}-`.includes(`-${name}-`)
