const OLDER = 'it implements an interface without this method'
const NO_BYTES = 'its output is text, decoded and encoded again'
const NO_INPUT = 'a process has no input'
const NO_KILL = 'a command cannot be stopped'
const RELATIVE = 'a relative workingDirectory is not resolved'
const LONG = 'its commands lose a long output'
const NO_CHECK = 'a directory is written over'

/** The promises that `@ai-sdk/sandbox-just-bash` 1.0.122 does not keep, and why. A change of theirs is noticed here. */
export const failuresOfJustBash: ReadonlyMap<string, string> = new Map([
  ['run: a relative workingDirectory begins at the base directory', RELATIVE],
  ['run: an output of 5 MB is whole', LONG],
  ['run: an abort rejects with the reason while the command runs', 'it resolves with exit code 124'],
  ['run: an abort kills the command', NO_KILL],
  ['spawn: stdout comes while the process runs', 'output comes when the process has ended'],
  ['spawn: output is bytes as they are', NO_BYTES],
  ['spawn: 10 MB of output are whole', LONG],
  ['spawn: a process that ignores signals is killed', NO_KILL],
  ['spawn: an abort kills the process', NO_KILL],
  ['spawn: what is written to stdin reaches the process at once', NO_INPUT],
  ['spawn: closing stdin is the end of the input, and ends nothing else', NO_INPUT],
  ['spawn: pending writes arrive before the end of the input', NO_INPUT],
  ['spawn: input is bytes as they are', NO_INPUT],
  ['spawn: a writer is held back while the process does not read', NO_INPUT],
  ['spawn: env and workingDirectory', RELATIVE],
  ['readFile: 8 MB as a stream', LONG],
  ['readBinaryFile: what a command has written', NO_BYTES],
  ['writeFile: rejects for a directory', NO_CHECK],
  ['writeBinaryFile: rejects for a directory', NO_CHECK],
  ['writeTextFile: rejects for a directory', NO_CHECK],
  ['writeFile: rejects for a directory outside of the base directory', NO_CHECK],
  ['writeBinaryFile: rejects for a directory outside of the base directory', NO_CHECK],
  ['writeTextFile: rejects for a directory outside of the base directory', NO_CHECK],
  ['paths: any name that a file can have', 'its find knows no -print0'],
  ['abort: a stream that is being written', 'the signal is looked at when the stream has ended'],
  ['abort: stat', OLDER],
  ['abort: listDirectory', OLDER],
  ['abort: deleteFile', OLDER],
  ...['stat: a device is other', 'stat: a named pipe is other'].map((name) => [name, OLDER] as const),
  ...[
    'stat: type and size of a file',
    'stat: a directory',
    'stat: null for what is not there',
    'stat: links are followed',
    'listDirectory: names and types, hidden ones too',
    'listDirectory: an empty directory',
    'listDirectory: null for what is not there',
    'listDirectory: rejects for a file',
    'deleteFile: true when it was deleted',
    'deleteFile: false for what is not there',
    'deleteFile: a link itself, and not what it leads to',
    'deleteFile: rejects for a directory',
  ].flatMap((name) => [[name, OLDER] as const, [`${name}, outside of the base directory`, OLDER] as const]),
])
