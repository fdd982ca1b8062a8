/** What models that were trained on other tools call the arguments of the process tools, and what these are called here. */
import { all, type Habits } from './argument-words.js'

const processId = all('id pid processId process session_id shell_id bash_id', 'process_id')

export const processHabits: Readonly<Record<string, Habits>> = {
  process_start: {
    ...all('cmd script commandLine shell_command', 'command'),
    ...all('cwd directory dir working_directory path', 'workdir'),
    ...all('args arguments', 'Write the arguments into `command`.'),
    ...all('name title', 'description'),
    ...all('timeout timeout_ms', 'A process has no time limit: `wait_ms` says how long this call waits for output.'),
    ...all('background run_in_background detach', 'A process runs on after its call: leave it out.'),
    ...all('env environment', 'Set variables in `command`, in front of the program: `NAME=value program`.'),
    ...all('tty pty', 'terminal'),
  },
  process_read: { ...processId, ...all('timeout timeout_ms wait', 'wait_ms'), ...all('offset since cursor', 'from') },
  process_write: { ...processId, ...all('input data chars content stdin', 'text'), ...all('key', 'keys') },
  process_stop: { ...processId, ...all('signal', 'A process is asked to end, and then killed: leave it out.') },
}

/** How to do without a command in the background. */
export const inBackground = (startsProcesses: boolean, instead: string): string =>
  startsProcesses
    ? 'Programs that still run when the command ends are stopped: start with process_start what is to go on.'
    : `Programs that still run when the command ends are stopped: ${instead}.`
